"""The base class of interventions that change the network of a run once, and keep parts of it frozen.

Legend: K runs, B examples, D numbers of an example, O numbers of an output.
"""

from collections.abc import Mapping
from math import ceil

import numpy as np
from torch import Tensor

from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.intervention import Composed, Intervention
from plasticity_lab.networks.actor_critic import ActorCritic
from plasticity_lab.networks.halves import Halves, Names, in_halves
from plasticity_lab.networks.heads.head import Head
from plasticity_lab.networks.heads.moe import MoE
from plasticity_lab.networks.network import Arrays, Network
from plasticity_lab.others import Others


class Changing(Intervention):
    """An intervention that changes each run's network once, after `at` updates of that run.

    A subclass writes `frozen`, `moves` and `forward`, and declares `held`. It has a gate: the frozen parameter "gate",
    (K, 1), is 0 in a run until its change, and 1 from then on. The runs of a pack may change at different times, so
    `forward` computes everything for all of them, and `Halves.opened` selects by the gate.

    Checkpoints, saved weights and target networks include frozen parameters. These have no gradient, no
    moments and no decay. No penalty, no other intervention and no diagnostic sees them. A learned parameter that gets
    another value at the change starts again: its moments become zero, and Adam's bias correction counts from there.

    at: updates before the change; beyond the length of a run, it never changes.
    """

    objects_to = frozenset({"activation", "head", "network"})
    capped = frozenset({"at"})
    needs_gradients = False

    held: tuple[int, int] = (0, 0)
    """The number of frozen copies of the features' layers, and of the head's layers. Plans include their cost."""

    def __init__(self, at: float) -> None:
        self.at = check("intervention.at", at, at_least=1)

    def changes_parameters(self) -> bool:
        """It does."""
        return True

    def first_after(self) -> dict[str, int]:
        """Its `at`."""
        return {"at": ceil(self.at)}

    def objection(self, others: Others) -> str | None:
        """The network must consist of features and a head without a router."""
        if "head" in others and isinstance(others.one("head", Head), MoE):
            return (
                "it holds frozen copies of the layers behind the features, and the router of experts cannot be copied"
            )
        network = others.one("network", Network) if "network" in others else None
        if network is not None and not in_halves(network):
            return "it needs a network that consists of features and a head (see networks.halves)"
        if network is not None and network.norm == "batch":
            return "its frozen copies of layers have no running statistics; choose network.norm=layer"
        apart = isinstance(network, ActorCritic) and network.separate_value_trunk
        if apart and others.one("activation", Activation).randomised:
            return "the activation would draw other numbers than in a plain run, as the value has a separate trunk"
        return super().objection(others)

    def frozen(self, names: Names, live: Arrays, fresh: Arrays) -> dict[str, np.ndarray]:
        """The frozen parameters of one run at the beginning, by name, without the gate.

        A copy "kept" of the parameter "hidden1.weight" is called "kept.hidden1.weight". names: the learned parameters.
        live: their first values. fresh: another draw of them, from the same distributions.
        """
        raise NotImplementedError

    def moves(self, names: Names) -> Mapping[str, str]:
        """Parameter → the parameter with the value that it takes at the change. All values are read before any moves.

        A frozen parameter has the prefix "frozen." here, as in "frozen.kept.hidden1.weight".
        """
        raise NotImplementedError

    def forward(self, halves: Halves, x_KBD: Tensor) -> dict[str, Tensor]:
        """The outputs of the network, name → (K, B, O).

        While a gate is 0, the run's outputs must be the bits of the plain network. x: inputs of the network.
        """
        raise NotImplementedError


def change_of(intervention: Intervention) -> Changing | None:
    """The change of the network by an intervention, or by one of a list; None without one.

    Raises ConfigError if several members of a list change the network.
    """
    members = intervention.members if isinstance(intervention, Composed) else {"": intervention}
    found = {name: each for name, each in members.items() if isinstance(each, Changing)}
    if len(found) > 1:
        raise ConfigError(f"intervention={'+'.join(members)}: {' and '.join(found)} both change the network; take one.")
    return next(iter(found.values()), None)
