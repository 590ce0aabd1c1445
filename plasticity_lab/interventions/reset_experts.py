"""Resets of experts: periodically resets, or shrinks and perturbs, the experts with dormant units, or all experts.

Legend: K runs, E experts, D units of each, P slots.
"""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.component import check
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.now import Now, State, Tensors
from plasticity_lab.interventions.resets import Resets, mean_size, none_yet
from plasticity_lab.networks.network import Unit
from plasticity_lab.networks.units import DRAWN_ANEW
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.router import StackedRouter

TINY = 1e-9
"""Added to an expert's mean, which may be 0."""
CHOSEN, TARGETS = ("dormant", "all"), ("copy", "own")


class ResetExperts(Resets):
    """After every `every` updates, θ ← shrink · θ + perturb · fresh for the chosen experts. 0 and 1 give a full reset.

    chosen: all, or dormant: the `count` experts with the largest share of dormant units; of equal experts the first. A
    unit is dormant if its mean |h| is at most `dormant` (τ) of the mean over its expert's units. The mean |h| is over
    examples, slots and about the last `average` updates. fresh: newly drawn initial values of the layer. These include
    the weights, biases and sigmas of both layers of an expert. router: whether to change the router's columns for the
    experts' slots too. target: copy: a target network follows at its next copy; own: its experts are changed at the
    same time, with a separate draw, as in BBF. The moments of the changed parameters become zero. So does the
    optimizer's step count for the experts' layers, used for its bias correction; the count for the router's columns
    continues.
    Source: Sokar et al. 2025, Section 6 and Appendix B.5 (periods 1,250,000 updates of Rainbow, 200,000 steps of DER);
    Schwarzer et al. 2023 for shrinking and perturbing. Neither has public code.  State: two numbers a unit.
    """

    watches_units = True
    needs_gradients = False
    unit_kind = "expert"
    capped = frozenset({"every"})
    read_if = dict.fromkeys(("dormant", "count", "average"), ("chosen", lambda chosen: chosen == "dormant"))

    def __init__(
        self,
        shrink: float = 0.0,
        perturb: float = 1.0,
        dormant: float = 0.025,
        every: int = 1_250_000,
        chosen: str = "dormant",
        count: int = 1,
        average: int = 16,
        router: bool = False,
        target: str = "copy",
    ) -> None:
        self.shrink = check("intervention.shrink", shrink, at_least=0, at_most=1)
        self.perturb = check("intervention.perturb", perturb, at_least=0)
        self.dormant = check("intervention.dormant", dormant, at_least=0)
        self.every = check("intervention.every", every, at_least=1)
        self.chosen = check("intervention.chosen", chosen, one_of=CHOSEN)
        self.count = check("intervention.count", count, at_least=1)
        if chosen == "all" and count > 1:
            raise ConfigError(
                f"intervention.count={count} says how many of the most dormant experts, and intervention.chosen=all "
                "takes all of them; choose intervention.chosen=dormant, or leave intervention.count out."
            )
        self.needs_experts = count
        self.average = check("intervention.average", average, at_least=1)
        self.router = router
        self.layers: tuple[str, ...] = ()  # names of the network's layers; set by `start`
        self.target = check("intervention.target", target, one_of=TARGETS)

    def start(self, now: Now) -> State:
        """`size` (K, E, D): the running mean of |h|; `age` (K, E): updates since the moments were reset; "resets"
        (K,).
        """
        unit = place_of_experts(now)
        self.layers = _layers(unit)
        like = now.parameters[f"{unit.incoming}.weight"]
        sizes = like.new_zeros(like.shape[0], unit.produced[0], unit.produced[-1])
        return {"resets": none_yet(now), "size": sizes, "age": torch.zeros_like(sizes[..., 0], dtype=torch.int64)}

    def after_step(self, now: Now) -> State:
        """Updates the running mean of the units' |h|, and counts the update."""
        unit = place_of_experts(now)
        size_KV = mean_size(unit.units_first(now.hidden[unit.name]), now.weights)
        # If an activation passes on two values per unit, these are in two blocks; if it makes one value of two units,
        # repeat it.
        each = size_KV.unflatten(1, (-1, unit.produced[0])).transpose(1, 2)
        units = unit.produced[-1]
        size = each.unflatten(2, (-1, units)).mean(dim=2) if each.shape[2] >= units else each.repeat(1, 1, 2)
        before = now.state["size"]
        return {**now.state, "size": before + (size - before) * (1 / self.average), "age": now.state["age"] + 1}

    def ages(self, state: State) -> Tensors:
        """The ages of both layers of the experts."""
        return {f"{layer}.{part}": state["age"] for layer in self.layers[:2] for part in DRAWN_ANEW}

    def moments_begun(self, state: State) -> State:
        """The state with the ages reset to zero."""
        return {**state, "age": torch.zeros_like(state["age"])}

    def every_n_updates(self, now: Now) -> State:
        """Changes the chosen experts of each run, in place."""
        state = {**now.state, "resets": now.state["resets"].clone(), "age": now.state["age"].clone()}
        for run, tau in enumerate(now.settings["dormant"].tolist()):
            size_ED = state["size"][run].cpu().double().numpy()
            experts = np.arange(len(size_ED)) if self.chosen == "all" else most_dormant(size_ED, tau, self.count)
            self._change(now, run, experts)
            state["age"][run, torch.from_numpy(experts).to(state["age"].device)] = 0
            state["resets"][run] += len(experts)
        return state

    def _change(self, now: Now, run: int, experts: NDArray[np.int64]) -> None:
        shrink, perturb = (float(now.settings[name][run]) for name in ("shrink", "perturb"))
        networks = [
            ("", now.parameters),
            *([("target ", each) for each in now.targets] if self.target == "own" else []),
        ]
        for purpose, parameters in networks:
            for name, at, fresh in self._fresh(now, run, experts, purpose):
                own = parameters[name][run]
                own[at] = shrink * own[at] + perturb * fresh.to(own.device)
        for name, at, _ in self._fresh(now, run, experts, ""):
            for moments in now.moments.values():
                moments[name][run][at] = 0.0

    def _fresh(
        self, now: Now, run: int, experts: NDArray[np.int64], purpose: str
    ) -> list[tuple[str, tuple[slice | Tensor, ...], Tensor]]:
        """For each parameter to change: its name, the index of the experts' entries in one run's tensor, and fresh
        values.
        """
        found = []
        for layer in self.layers[: 3 if self.router else 2]:
            draw = host_stream(now.seeds[run], f"{purpose}reset experts", now.updates, layer)
            fresh = now.model.start_of(now.model.design.layer(layer), run, draw)
            for part, values in _of_experts(now, layer, fresh, experts).items():
                found.append((part, *values))
        return found


def place_of_experts(now: Now) -> Unit:
    """The place of the experts' units."""
    return next(unit for unit in now.model.units if unit.kind == "expert")


def most_dormant(size_ED: NDArray[np.float64], tau: float, count: int) -> NDArray[np.int64]:
    """The `count` experts with the largest share of dormant units, in ascending order; of equal experts the first.

    size: the mean |h| of each unit. A unit is dormant if its size is at most τ of the mean over its expert's units.
    """
    dormant_E = (size_ED <= tau * (size_ED.mean(axis=1, keepdims=True) + TINY)).mean(axis=1)
    return np.sort(np.argsort(-dormant_E, kind="stable")[:count])


def _layers(unit: Unit) -> tuple[str, str, str]:
    """The layers before and behind the experts' units, and the router before them."""
    hidden = "experts.hidden"
    return unit.incoming, unit.outgoing[0], f"{unit.incoming.removesuffix(hidden)}router"


def _of_experts(
    now: Now, layer: str, fresh: Mapping[str, NDArray[np.float32]], experts: NDArray[np.int64]
) -> dict[str, tuple[tuple[slice | Tensor, ...], Tensor]]:
    """By parameter of a layer: the index of the experts' entries in one run's tensor, and their fresh values."""
    router = now.model.design.layer(layer)
    if not isinstance(router, StackedRouter):
        chosen = torch.from_numpy(experts)
        return {name: ((chosen,), torch.from_numpy(values[experts])) for name, values in fresh.items()}
    each = router.outputs // place_of_experts(now).produced[0]  # columns of an expert: its slots, or one
    columns = (experts[:, None] * each + np.arange(each)).ravel()
    at = (slice(None), torch.from_numpy(columns))
    return {f"{layer}.weight": (at, torch.from_numpy(fresh[f"{layer}.weight"][:, columns]))}
