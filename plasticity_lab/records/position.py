"""Where a run stands."""

from typing import NamedTuple


class Position(NamedTuple):
    """Before step `step` of task `task`; at a task's last step, before its evaluation."""

    task: int
    step: int
