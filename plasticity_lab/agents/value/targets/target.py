"""The base class of targets (config group `target`): the numbers that a value agent's network learns.

Legend: K runs, B rows of a batch (padded), Z atoms of a distribution.
"""

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from plasticity_lab.agents.value.settings import ValueSettings
from plasticity_lab.agents.value.targets.inputs import TARGET_NEXT, TargetInputs
from plasticity_lab.component import Component, as_typed
from plasticity_lab.others import Others

VALUES = "values of actions learned from targets"
"""In `Target.requires`: the agent learns values of actions, and computes targets for them."""


class Target(Component):
    """How the target of a batch's examples is computed. Settings annotated `float` may differ within a pack.

    A final class declares its passes and computes its targets.
    """

    floats_on_run_axis = True

    requires: ClassVar[frozenset[str]] = frozenset({VALUES})
    """The features that the agent must provide (`Agent.provides`). Other agents are refused together with this target.
    """

    passes: ClassVar[Sequence[str]] = (TARGET_NEXT,)
    """The forward passes that it needs (constants of `targets/inputs.py`), in the order of computation. Each is part of
    the price of an update."""

    double: ClassVar[bool | None] = False
    """The value of `agent.double` that goes with this target; None: both. The other value is refused."""

    objects_to = frozenset({"agent"})

    def objection(self, others: Others) -> str | None:
        """A target that contradicts `agent.double` would leave that setting without effect."""
        agent = others.one("agent", Component)
        if self.double is None or not isinstance(agent, ValueSettings) or agent.double == self.double:
            return None
        chosen, needed = (as_typed(value) for value in (agent.double, self.double))
        return f"agent.double is {chosen}, and this target needs agent.double={needed}"

    def beside(self, agent: ValueSettings) -> "Target":
        """The target that computes for this agent: itself, unless a class chooses by the agent's settings."""
        return self

    def target(self, inputs: TargetInputs) -> Tensor:
        """The targets of a batch: (K, B), or with atoms the probabilities (K, B, Z).

        It is part of a compiled update, so it must be a function of tensors. Run k's targets must depend on run k
        alone: read `inputs.settings`, never an attribute of the class, for settings annotated `float`. Elementary
        functions are in `stacking/elementary.py`.
        """
        raise NotImplementedError
