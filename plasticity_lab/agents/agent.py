"""What an agent is."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.labelled.stream import Chunk, Task

Rows = dict[str, NDArray[np.float64]]
State = dict[str, Any]


class Agent(Protocol):
    """Learns the tasks of a pack of K runs."""

    def begin(self, task: Task) -> None:
        """Lays out the task's data; changes no parameter, since a resumed run calls it again."""
        ...

    def advance(self, chunk: Chunk) -> Rows:
        """Learns for the chunk's S steps.  Returns "accuracy" and "loss", (S, K) each, taken before each update."""
        ...

    def evaluate(self, task: Task) -> Rows:
        """Ends the task: "final_accuracy" (K,) on its held-out images, then whatever is due between tasks."""
        ...

    def state(self) -> State:
        """All that `load` needs to go on bit for bit: tensors, numbers and dictionaries of them."""
        ...

    def load(self, state: Mapping[str, Any]) -> None:
        """Goes back to a state."""
        ...

    def weights(self) -> dict[str, Any]:
        """The parameters, name → (K, ...) on the host."""
        ...
