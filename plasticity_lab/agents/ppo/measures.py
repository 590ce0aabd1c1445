"""What PPO measures: parts of the loss by update, episodes, and a run's returns in a few numbers."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.records.measures import Column, Measure, Measures

FINAL = 0.15
"""The part of a task whose episodes say how well it was learned in the end.  Source: Section 7.1."""
Array = NDArray[np.float64]
Table = Any
"""metrics.parquet in memory, a pyarrow.Table: this room trains where pyarrow is not there."""


def summarise(table: Table) -> dict[str, float | None]:
    """The returns of a run in a few numbers; None where no episode has ended, and for what is not finite.

    final_return: the mean return of the episodes that end in the last 15 % of a task, averaged over tasks;
    final_return_last_cycle and final_return_first_cycle: over the tasks of the last cycle, and of the first;
    last_return: of the last task. A task in whose last part none ends counts with its last episode. mean_return and
    mean_length: over all episodes. episodes: how many ended.
    """
    finals = _final_returns(table)
    cycles = sorted({cycle for cycle, _ in finals})
    episodes = _rows(table, "episode")
    return {
        "final_return": _mean([value for _, value in finals]),
        "final_return_last_cycle": _mean([value for cycle, value in finals if cycle == cycles[-1]]),
        "final_return_first_cycle": _mean([value for cycle, value in finals if cycle == cycles[0]]),
        "last_return": _mean([value for _, value in finals[-1:]]),
        "mean_return": _mean(episodes["return"]),
        "mean_length": _mean(episodes["length"]),
        "episodes": float(len(episodes["return"])),
    }


def flags(table: Table, facts: Mapping[str, float]) -> dict[str, bool]:
    """unstable: whether a loss, an observation or an action was not finite, since when the run learns no more."""
    return {"unstable": bool((_rows(table, "epoch")["unstable"] > 0).any())}


def _final_returns(table: Table) -> list[tuple[int, float]]:
    """For each task in which an episode ended: its cycle, and the mean return of those in its last part."""
    tasks, episodes = _rows(table, "task"), _rows(table, "episode")
    ends, found = tasks["step"], []
    for at, (task, end) in enumerate(zip(tasks["task"], ends, strict=True)):
        began = ends[at - 1] if at else 0
        own = episodes["task"] == task
        if own.any():
            returns, steps = episodes["return"][own], episodes["step"][own]
            late = returns[steps > end - FINAL * (end - began)]
            found.append((int(tasks["cycle"][at]), _mean(late if len(late) else returns[-1:])))
    return [(cycle, np.nan if value is None else value) for cycle, value in found]


def _rows(table: Table, kind: str) -> dict[str, Array]:
    wanted = table["kind"].to_numpy() == kind
    return {name: table[name].to_numpy()[wanted] for name in table.column_names if name != "kind"}


def _mean(values: Array | list[float]) -> float | None:
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(np.mean(values)) if len(values) else np.nan
    return mean if isfinite(mean) else None


def _of_updates(name: str, title: str, unit: str = "") -> Column:
    return Column(Measure(name, title, unit), name, {"epoch": "mean", "task": "mean"})


def _return(name: str, title: str, short: str = "") -> Measure:
    return Measure(name, title, "reward", places=1, better="more", short=short)


PPO_MEASURES = Measures(
    columns=(
        Column(_return("return", "Return"), "return", {"episode": "value"}),
        Column(Measure("length", "Length", "steps", places=0), "length", {"episode": "value"}),
        _of_updates("policy_loss", "Policy loss"),
        _of_updates("value_loss", "Value loss"),
        _of_updates("entropy", "Entropy", "nats"),
        _of_updates("approx_kl", "Change of the policy, approximate divergence", "nats"),
        _of_updates("first_kl", "The same in the first pass over a rollout", "nats"),
        _of_updates("clip_fraction", "Clipped actions"),
        Column(Measure("unstable", "Unstable"), "unstable", {"epoch": "mean"}),
        Column(_return("test_return", "Return in the test"), "test_return", {"task": "value"}),
        Column(Measure("friction", "Factor of friction"), "friction", {"task": "value"}),
    ),
    summaries=(
        _return("final_return", "Return over the last 15 % of each task", short="final return"),
        _return("final_return_last_cycle", "Return over the last 15 % of each task of the last cycle"),
        _return("final_return_first_cycle", "Return over the last 15 % of each task of the first cycle"),
        _return("last_return", "Return over the last 15 % of the last task"),
        _return("mean_return", "Return, mean over all episodes"),
        Measure("mean_length", "Length, mean over all episodes", "steps", places=1),
        Measure("episodes", "Episodes", "count", places=0),
    ),
    headline="final_return",
    must_stay_finite=None,
    summarise=summarise,
    marks={"body": int, "cycle": int},
    flags=flags,
)
