"""The first steps of a small pack, handed to somebody who looks at them: what the tests of GPUs share."""

import collections
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plasticity_lab.assembly import assembled, resources
from plasticity_lab.records.rows import Position
from tests.helpers.packs import CPU
from tests.tenants.packs import packs_of

Step = Callable[..., Any]
PIXELS = (
    "benchmark.stack=2",
    "network=small_nature",
    "network.hidden=8",
    "network.width=1",
    "agent.capacity=90",
    "agent.min_history=40",
)
EXPERTS = ("head=softmoe", "head.experts=4")
"""Words of a value agent that sees pixels, and of a head of experts."""


class Taken(Exception):
    """The steps were taken."""


def first_steps(look: Callable[[Step, tuple[Any, ...]], None], *words: str) -> None:
    """Trains two runs of a command until each of its kinds of steps was taken once.

    look: is shown a step and its arguments before it is taken.
    """
    runs = packs_of(*words, "seed=0,1")
    stream, learner = assembled(runs, resources(Path())(runs[0]), CPU, compiled=False)
    task = stream.task(0)
    learner.begin(task, fresh=True)

    def watched(step: Step, last: bool = True) -> Step:
        def instead(*arguments: Any) -> Any:
            look(step, arguments)
            result = step(*arguments)
            if last:
                raise Taken
            return result

        return instead

    own: Any = getattr(learner, "learning", learner)
    if hasattr(own, "critics_step"):  # the steps of the body that it has turned to
        own.critics_step = watched(own.critics_step, last=False)
        own.actor_step = watched(own.actor_step)
    elif hasattr(own, "_steps"):
        own._steps = {name: watched(step) for name, step in own._steps.items()}
    else:
        own.step = watched(own.step)
    with pytest.raises(Taken):
        collections.deque(map(learner.advance, task.chunks(Position(0, 0))), maxlen=0)
