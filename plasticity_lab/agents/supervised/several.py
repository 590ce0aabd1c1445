"""Several steps of a pack in one launch on a GPU: the device counts the rows of the tables.

A small pack's step takes a GPU less time than the host needs to launch it. Between these steps the host does nothing:
the learner takes them only if neither intervention, evaluation nor the end of a chunk is due.
"""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from plasticity_lab.agents.optimizer_step import TrainState
from plasticity_lab.interventions.now import State

STEPS = 16
"""Steps of one launch. A sixteenth of a launch is shorter than any step."""
READS = (1, 2, 3, 4)
"""Positions of the arguments that the steps do not change. The count, the last argument, they change."""


def several(step: Callable[..., State]) -> Callable[..., State]:
    """`STEPS` steps as one function.  step: see `step.step_of`; it is not a step of a transition.

    The function has the arguments of the step and returns the state after the last one. `at`, the index of its first
    step, grows by `STEPS`.
    """

    def steps(
        train_state: TrainState,
        settings: Mapping[str, Any],
        keys: Mapping[str, Tensor],
        images: Tensor,
        tables: Mapping[str, Tensor],
        measured: Mapping[str, Tensor],
        at: Tensor,
    ) -> State:
        for _ in range(STEPS):
            state = step(train_state, settings, keys, images, tables, measured, at)
            train_state = train_state._replace(state=state)
            at.add_(1)
        return train_state.state

    return steps
