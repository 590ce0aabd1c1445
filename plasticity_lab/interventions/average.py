"""A slow average of the network in an intervention's state, which follows the parameters after every update.

Legend: K runs.
"""

from torch import Tensor

from plasticity_lab.interventions.now import Now, State
from plasticity_lab.stacking.run_axis import beside


def copied(now: Now, prefix: str) -> State:
    """The average at first, a copy of the network without switches: prefix and parameter → (K, ...)."""
    left_out = now.model.switches
    return {f"{prefix}{name}": value.clone() for name, value in now.network.items() if name not in left_out}


def averages(now: Now, prefix: str) -> dict[str, Tensor]:
    """The entries of the active parameters' averages, parameter → (K, ...)."""
    names = (name for name in now.network if name not in now.model.switches)
    return {name: now.state[f"{prefix}{name}"] for name in names}


def follow(slow: Tensor, fast: Tensor, kept_K: Tensor) -> None:
    """slow ← kept · slow + (1 − kept) · fast, in place: new memory would take as long again. Exactly fast if kept is 0.

    slow, fast (K, ...).
    """
    slow.sub_(fast).mul_(beside(kept_K, slow)).add_(fast)
