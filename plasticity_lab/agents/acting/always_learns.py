"""Why an agent that remembers may find nothing to learn from in its memory; asked before anything is queued."""

from typing import Protocol

from plasticity_lab.agents.acting.schedule import Timetable
from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.replay.enough import Remembered, always


class Learns(Protocol):
    """The settings of an agent that decide it.

    environments: how many each run has. n_step: steps of a return. capacity: steps that the memory holds.
    empty_each_task: whether a new task finds it empty. timetable: when an update is due.
    """

    environments: int
    n_step: int
    capacity: int
    empty_each_task: bool

    @property
    def timetable(self) -> Timetable:
        """When an update is due."""
        ...


def nothing_to_learn_from(agent: Learns, benchmark: BodyBenchmark) -> str | None:
    """Why an update may find no step with a whole return, as words for `Agent.objection`; None: each finds one."""
    bodies, environments, n = benchmark.outline().by_name, agent.environments, agent.n_step
    task_rows = -(-benchmark.environment_steps // environments)
    cycle = [bodies[benchmark.body_of(task)] for task in range(min(benchmark.tasks, len(benchmark.bodies)))]
    rows = min(agent.capacity // environments, benchmark.tasks * task_rows)
    lack = Remembered(
        n=n,
        stack=cycle[0].stack,
        rows=rows,
        tasks=benchmark.tasks,
        task_rows=task_rows,
        longest=[body.max_steps for body in cycle],
        environments=environments,
        min_history=agent.timetable.min_history,
        update_period=agent.timetable.update_period,
        whole_episodes=all(body.whole_episodes for body in cycle),
        emptied=agent.empty_each_task,
    ).first_lack()
    if lack is None:
        return None
    if task_rows <= n:
        return (
            f"a task has {task_rows} steps of each environment, too few for a return of {n} and the value that follows "
            f"it, so that nothing would ever be learned; choose benchmark.environment_steps above {n * environments:,}"
        )
    needed = always(n, cycle[0].stack)
    return (
        f"its memory holds {rows} steps of each environment, which may have no whole return of {n} steps and the value "
        f"that follows it (after {lack * environments:,} steps of a run at the earliest); choose an agent.capacity of "
        f"{needed * environments:,} or more, or fewer agent.environments"
    )
