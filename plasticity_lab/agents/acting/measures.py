"""Measures shared by all agents that act: episodes, tests, and summary statistics of a run's returns."""

from collections.abc import Mapping, Sequence
from math import isfinite

from plasticity_lab.records.measures import Column, Measure, Measures
from plasticity_lab.records.stage_returns import Array, Table, mean_of, recoveries, rows_of, stage_returns


def return_of(name: str, title: str, short: str = "") -> Measure:
    """A measure in the unit of rewards."""
    return Measure(name, title, "reward", places=1, better="more", short=short)


def of_updates(name: str, title: str, unit: str = "") -> Column:
    """A column of means over updates: over the updates of an epoch, and over those in a task."""
    return Column(Measure(name, title, unit), name, {"epoch": "mean", "task": "mean"})


EPISODES = (
    Column(return_of("return", "Return"), "return", {"episode": "value"}),
    Column(Measure("length", "Length", "steps", places=0), "length", {"episode": "value"}),
)
UNSTABLE = Column(Measure("unstable", "Unstable"), "unstable", {"epoch": "mean"})
"""Whether the run had become unstable, 0 or 1."""
TEST = Column(return_of("test_return", "Return in the test"), "test_return", {"task": "value"})
FRICTION = Column(Measure("friction", "Factor of friction"), "friction", {"task": "value"})
"""For agents that act with bodies that have friction."""
SUMMARIES = (
    return_of("final_return", "Return over the last 15 % of each task", short="final return"),
    return_of("final_return_last_cycle", "Return over the last 15 % of each task of the last cycle"),
    return_of("final_return_first_cycle", "Return over the last 15 % of each task of the first cycle"),
    return_of("last_return", "Return over the last 15 % of the last task"),
    return_of("test_return_last_cycle", "Return in the tests of the last cycle"),
    return_of("mean_return", "Return, mean over all episodes"),
    Measure("mean_length", "Length, mean over all episodes", "steps", places=1),
    Measure(
        "recovery_last_cycle", "Steps until a body of the last cycle reached its earlier return", "steps", places=0
    ),
    Measure(
        "recovered_last_cycle",
        "Bodies of the last cycle that reached their earlier return",
        "share",
        places=2,
        better="more",
    ),
    Measure("episodes", "Episodes", "count", places=0),
    Measure("tasks", "Tasks", "count", places=0),
    Measure("tasks_with_episodes", "Tasks in which an episode ended", "count", places=0),
)
HEADLINE = "final_return"
MARKS = {"body": int, "cycle": int}


def summarise(table: Table) -> dict[str, float | None]:
    """Summary statistics of a run's returns; None if no episode has ended, and for values that are not finite.

    final_return: the mean return of the episodes that end in the last 15 % of a task, averaged over tasks. If no
        episode ends there, the task's last episode counts.
    final_return_last_cycle, final_return_first_cycle: the same over the tasks of the last and of the first cycle.
    last_return: the same for the last task.
    test_return_last_cycle: mean return in the tests after the tasks of the last cycle.
    recovery_last_cycle: number of steps until a body that came before earned as much again (see `recoveries`). It is
        the mean over the bodies of the last cycle that recovered.
    recovered_last_cycle: the share of bodies that recovered; None if no body of the last cycle came before.
    mean_return, mean_length: over all episodes.
    episodes: number of episodes that ended.
    tasks: number of tasks that ended.
    tasks_with_episodes: number of tasks with at least one ended episode. Means over tasks include only these tasks, and
        they define the last task and the last cycle.
    """
    ended = stage_returns(table)
    stages = [stage for stage in ended if stage.episodes]
    first = [stage for stage in stages if stage.cycle == stages[0].cycle]
    last = [stage for stage in stages if stage.cycle == stages[-1].cycle]
    episodes = rows_of(table, "episode")
    again = [each for each in recoveries(table) if each.cycle == last[0].cycle] if last else []
    recovered = [float(each.steps) for each in again if each.steps is not None]
    return {
        "final_return": _mean([stage.train for stage in stages]),
        "final_return_last_cycle": _mean([stage.train for stage in last]),
        "final_return_first_cycle": _mean([stage.train for stage in first]),
        "last_return": _mean([stage.train for stage in stages[-1:]]),
        "test_return_last_cycle": _mean([stage.test for stage in last]),
        "recovery_last_cycle": _mean(recovered),
        "recovered_last_cycle": len(recovered) / len(again) if again else None,
        "mean_return": _mean(episodes["return"]),
        "mean_length": _mean(episodes["length"]),
        "episodes": len(episodes["return"]),
        "tasks": len(ended),
        "tasks_with_episodes": len(stages),
    }


def flags(table: Table, facts: Mapping[str, float]) -> dict[str, bool]:
    """unstable: whether a loss, an observation or an action was not finite; from then on the run learns no more.

    no_episode: set only if no episode has ended, so that the run has no return.
    """
    silent = {} if len(rows_of(table, "episode")["return"]) else {"no_episode": True}
    return {"unstable": bool((rows_of(table, "epoch")["unstable"] > 0).any()), **silent}


def _mean(values: Array | list[float]) -> float | None:
    """The mean; None if it is not finite."""
    mean = mean_of(values)
    return mean if isfinite(mean) else None


def measures_of(*own: Column, of_tasks: Sequence[Column] = ()) -> Measures:
    """The measures of an agent that acts, including its own columns. Such runs may become unstable, but never count as
    diverged.
    """
    return Measures(
        columns=(*EPISODES, *own, UNSTABLE, TEST, *of_tasks),
        summaries=SUMMARIES,
        headline=HEADLINE,
        must_stay_finite=None,
        summarise=summarise,
        marks=MARKS,
        flags=flags,
    )
