"""What any agent measures that acts: episodes, tests, and a run's returns in a few numbers."""

from collections.abc import Mapping, Sequence
from math import isfinite

from plasticity_lab.records.measures import Column, Measure, Measures
from plasticity_lab.records.stage_returns import Array, Table, mean_of, recoveries, rows_of, stage_returns


def return_of(name: str, title: str, short: str = "") -> Measure:
    """A measure in the unit of rewards."""
    return Measure(name, title, "reward", places=1, better="more", short=short)


def of_updates(name: str, title: str, unit: str = "") -> Column:
    """A column that is a mean over updates: of an epoch, and of a task."""
    return Column(Measure(name, title, unit), name, {"epoch": "mean", "task": "mean"})


EPISODES = (
    Column(return_of("return", "Return"), "return", {"episode": "value"}),
    Column(Measure("length", "Length", "steps", places=0), "length", {"episode": "value"}),
)
UNSTABLE = Column(Measure("unstable", "Unstable"), "unstable", {"epoch": "mean"})
"""Whether the run had become unstable, 0 or 1."""
TEST = Column(return_of("test_return", "Return in the test"), "test_return", {"task": "value"})
FRICTION = Column(Measure("friction", "Factor of friction"), "friction", {"task": "value"})
"""Of agents that act with bodies which have friction."""
SUMMARIES = (
    return_of("final_return", "Return over the last 15 % of each task", short="final return"),
    return_of("final_return_last_cycle", "Return over the last 15 % of each task of the last cycle"),
    return_of("final_return_first_cycle", "Return over the last 15 % of each task of the first cycle"),
    return_of("last_return", "Return over the last 15 % of the last task"),
    return_of("test_return_last_cycle", "Return in the tests of the last cycle"),
    return_of("mean_return", "Return, mean over all episodes"),
    Measure("mean_length", "Length, mean over all episodes", "steps", places=1),
    Measure("recovery_last_cycle", "Steps until a body of the last cycle earned what it had", "steps", places=0),
    Measure("recovered_last_cycle", "Bodies of the last cycle that earned it again", "share", places=2, better="more"),
    Measure("episodes", "Episodes", "count", places=0),
    Measure("tasks", "Tasks", "count", places=0),
    Measure("tasks_with_episodes", "Tasks in which an episode ended", "count", places=0),
)
HEADLINE = "final_return"
MARKS = {"body": int, "cycle": int}


def summarise(table: Table) -> dict[str, float | None]:
    """The returns of a run in a few numbers; None where no episode has ended, and for what is not finite.

    final_return: the mean return of the episodes that end in the last 15 % of a task, averaged over tasks;
    final_return_last_cycle and final_return_first_cycle: over the tasks of the last cycle, and of the first;
    last_return: of the last task. A task in whose last part none ends counts with its last episode.
    test_return_last_cycle: in the tests after the last cycle's tasks. recovery_last_cycle: steps until a body that came
    before earned as much again (see `recoveries`), mean over those of the last cycle that did; recovered_last_cycle:
    their share; None where none came before. mean_return and mean_length: over all episodes.
    episodes: how many ended. tasks: how many have ended; tasks_with_episodes: in how many of them an episode did, over
    which alone the means over tasks are. The last cycle and the last task are those in which one did.
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
    """unstable: whether a loss, an observation or an action was not finite, since when the run learns no more.

    no_episode: said where it is so alone, that none has ended, so that there is no return.
    """
    silent = {} if len(rows_of(table, "episode")["return"]) else {"no_episode": True}
    return {"unstable": bool((rows_of(table, "epoch")["unstable"] > 0).any()), **silent}


def _mean(values: Array | list[float]) -> float | None:
    """The mean, None where it is not finite."""
    mean = mean_of(values)
    return mean if isfinite(mean) else None


def measures_of(*own: Column, of_tasks: Sequence[Column] = ()) -> Measures:
    """What an agent measures that acts, its own columns among them; it becomes unstable, and never diverges."""
    return Measures(
        columns=(*EPISODES, *own, UNSTABLE, TEST, *of_tasks),
        summaries=SUMMARIES,
        headline=HEADLINE,
        must_stay_finite=None,
        summarise=summarise,
        marks=MARKS,
        flags=flags,
    )
