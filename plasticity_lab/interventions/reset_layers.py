"""Resets of whole layers: the last one, a head or all, periodically or between tasks, while replayed data stay.

Legend: K runs.
"""

from typing import ClassVar, Protocol, runtime_checkable

import torch
from torch import Tensor

from plasticity_lab.component import Component, check
from plasticity_lab.interventions.intervention import TASK_BEGINS
from plasticity_lab.interventions.now import Now, State, Tensors
from plasticity_lab.interventions.resets import Resets, none_yet
from plasticity_lab.networks.encoder import Encoder
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Network
from plasticity_lab.others import Others
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.run_axis import beside

ACTOR_AND_CRITIC = "an actor and a critic"
"""In `Agent.provides`: parts of its networks act, others estimate values, and their layers have such names."""
LAYERS, PARTS = ("last", "head", "all"), ("all", "actor", "critic")
VALUES, TARGETS = ("fresh", "birth"), ("same", "copy")
WORDS = {"actor": ("actor", "policy", "log_std"), "critic": ("critic", "value")}
"""Part → the beginnings of words in the names of its layers."""


@runtime_checkable
class Provides(Protocol):
    """An agent, as this intervention asks it."""

    provides: ClassVar[frozenset[str]]


class ResetLayers(Resets):
    """θ ← (1 − strength) θ + strength · θᶠ for the chosen layers, after every `every` updates or when a task begins.

    layers: last (the layers that compute outputs), head (all layers behind the encoder) or all (also the learned
    parameters of activations). part: all, or only layers of the actor or the critic. values: θᶠ is a fresh draw from
    each layer's initial distribution, or the run's own first values (birth). Moments are multiplied by 1 − strength:
    a whole reset, strength 1, leaves them zero. target: same: target networks change at once, towards the same θᶠ;
    copy: with their next copy. most: the number of resets after which there are no more; null: no limit. All parameters
    of a chosen layer change, also normalisation and σ of noisy layers; whether an expert is open does not. The
    optimizer's step count and a replay memory stay.

    Source: Nikishin et al. 2022, Section 5 (docs/pages/reference/interventions/reset_layers.md).
    State: the number of resets.
    """

    requires = frozenset({TASK_BEGINS})
    objects_to = frozenset({"network", "agent"})

    def __init__(
        self,
        strength: float = 1.0,
        layers: str = "last",
        every: int | None = None,
        values: str = "fresh",
        part: str = "all",
        target: str = "same",
        most: int | None = None,
    ) -> None:
        self.strength = check("intervention.strength", strength, at_least=0, at_most=1)
        self.layers = check("intervention.layers", layers, one_of=LAYERS)
        self.every = check("intervention.every", every, at_least=1)
        self.values = check("intervention.values", values, one_of=VALUES)
        self.part = check("intervention.part", part, one_of=PARTS)
        self.target = check("intervention.target", target, one_of=TARGETS)
        self.most = check("intervention.most", most, at_least=1)
        self.between_tasks = every is None

    def objection(self, others: Others) -> str | None:
        """A head needs an encoder, a part an agent that has it."""
        if self.layers == "head" and not isinstance(others.one("network", Network), Encoder):
            return (
                "layers=head are the layers behind an encoder, and this network has no encoder; choose "
                "intervention.layers=last or all"
            )
        agent = others.one("agent", Component) if self.part != "all" else None
        if isinstance(agent, Provides) and ACTOR_AND_CRITIC not in agent.provides:
            return f"the agent has no separate {self.part}; choose intervention.part=all"
        return super().objection(others)

    def start(self, now: Now) -> State:
        """The number of resets of each run, "resets" (K,)."""
        return {"resets": none_yet(now)}

    def every_n_updates(self, now: Now) -> State:
        """A reset, in place."""
        assert self.every is not None
        return self._reset(now, now.updates // self.every)

    def before_task(self, now: Now) -> State:
        """A reset, in place, unless it is done after updates."""
        return now.state if self.every is not None else self._reset(now, now.task)

    def _reset(self, now: Now, number: int) -> State:
        """The next state. number: the count of resets with this one."""
        if self.most is not None and number > self.most:
            return now.state
        strength_K = now.settings["strength"]
        networks = [now.parameters, *(now.targets if self.target == "same" else ())]
        for name, values in self._new_values(now).items():
            strength = beside(strength_K, values)
            for parameters in networks:
                parameters[name].mul_(1 - strength).add_(strength * values)
            for moments in now.moments.values():
                moments[name].mul_(1 - strength)
        return now.state | {"resets": now.state["resets"] + (strength_K > 0)}

    def _new_values(self, now: Now) -> Tensors:
        """θᶠ of the active parameters to reset, name → (K, ...)."""
        device, model = now.state["resets"].device, now.model
        active = {name.rpartition(".")[0] for name in now.parameters}
        layers = [name for name in _layers(model, self.layers, self.part) if name in active]
        birth = model.start(now.seeds, device)
        values = birth if self.values == "birth" else _drawn(now, layers, device)
        names = {name for name in now.parameters if name.rpartition(".")[0] in layers} - model.switches
        chosen = {name: values[name] for name in sorted(names)}
        if self.layers == self.part == "all":  # an activation starts without randomness
            chosen |= {name: birth[name] for name in sorted(model.learned_by_activation & now.parameters.keys())}
        return chosen


def _layers(model: Model, which: str, part: str) -> list[str]:
    """The names of the chosen layers."""
    layers = [layer.name for layer in model.design.layers]
    if which == "last":
        layers = list(dict.fromkeys(model.design.outputs.values()))
    elif which == "head":
        layers = layers[model.design.encoded[0] :]
    return [name for name in layers if part == "all" or _belongs(name, part)]


def _belongs(layer: str, part: str) -> bool:
    """Whether a layer belongs to the actor or the critic alone, by the words of its name."""
    return any(word.startswith(WORDS[part]) for word in layer.split("."))


def _drawn(now: Now, layers: list[str], device: torch.device) -> dict[str, Tensor]:
    """Fresh parameters of these layers, name → (K, ...)."""
    drawn: dict[str, list[Tensor]] = {}
    for name in layers:
        for run, seed in enumerate(now.seeds):
            draw = host_stream(seed, "reset layers", now.updates, name)
            for parameter, value in now.model.start_of(now.model.design.layer(name), run, draw).items():
                drawn.setdefault(parameter, []).append(torch.from_numpy(value))
    return {name: torch.stack(values).to(device) for name, values in drawn.items()}
