"""Which bodies an agent cannot act with, by the kind of their actions."""

from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.environments.bodies import BODIES


def not_continuous(benchmark: BodyBenchmark) -> str | None:
    """Why an agent whose actions are numbers cannot learn a benchmark; None where it can."""
    discrete = [body for body in benchmark.outline().by_name.values() if body.discrete]
    if not discrete:
        return None
    others = ", ".join(name for name, body in BODIES.items() if not body.discrete)
    return (
        f"an action of the body {discrete[0].name} is one of {discrete[0].actions} to choose from, and an action of "
        f"this agent is numbers, as with the bodies {others}, and with the Atari games of benchmark=cale"
    )


def not_discrete(benchmark: BodyBenchmark) -> str | None:
    """Why an agent that chooses among actions cannot learn a benchmark (see `Agent.objection`); None where it can."""
    continuous = [body for body in benchmark.outline().by_name.values() if not body.discrete]
    if not continuous:
        return None
    others = ", ".join(name for name, body in BODIES.items() if body.discrete)
    return (
        f"an action of the body {continuous[0].name} is {continuous[0].actions} numbers, and this agent chooses one of "
        f"several actions, as with the bodies {others}"
    )
