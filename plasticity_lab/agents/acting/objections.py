"""Reasons why an agent that acts cannot learn a benchmark, as words for `Agent.objection`. Checked before planning."""

from collections.abc import Sequence

from plasticity_lab.agents.acting.memory import MemorySettings
from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.environments.body import Body
from plasticity_lab.replay.enough import Remembered, always


def not_continuous(benchmark: BodyBenchmark) -> str | None:
    """Why an agent with continuous actions cannot learn a benchmark; None if it can."""
    discrete = [body for body in benchmark.outline().by_name.values() if body.discrete]
    if not discrete:
        return None
    others = ", ".join(name for name, body in BODIES.items() if not body.discrete)
    return (
        f"an action of the body {discrete[0].name} is one of {discrete[0].actions} to choose from, and an action of "
        f"this agent is numbers, as with the bodies {others}, and with the Atari games of benchmark=cale"
    )


def not_discrete(benchmark: BodyBenchmark) -> str | None:
    """Why an agent with discrete actions cannot learn a benchmark; None if it can."""
    continuous = [body for body in benchmark.outline().by_name.values() if not body.discrete]
    if not continuous:
        return None
    others = ", ".join(name for name, body in BODIES.items() if body.discrete)
    return (
        f"an action of the body {continuous[0].name} is {continuous[0].actions} numbers, and this agent chooses one of "
        f"several actions, as with the bodies {others}"
    )


def different_kinds(bodies: Sequence[Body]) -> str | None:
    """Why one network and one memory do not fit all these bodies; None if they do."""
    kinds = {(body.observation, body.dtype, body.stack, body.actions, body.low, body.high) for body in bodies}
    if len(kinds) == 1:
        return None
    return (
        "its networks and its memory have one kind of observations and actions, and the bodies "
        f"{', '.join(body.name for body in bodies)} differ"
    )


def nothing_to_learn_from(agent: MemorySettings, benchmark: BodyBenchmark, emptied: bool = False) -> str | None:
    """Why an update may find no step with a whole return in the memory; None if each update finds one.

    emptied: whether each task begins with an empty memory, whatever the agent's settings say.
    """
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
        emptied=emptied or agent.empty_each_task,
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
