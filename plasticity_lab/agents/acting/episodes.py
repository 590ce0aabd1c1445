"""Episodes that ended while a pack acted, as rows of metrics.

Legend: E episodes.
"""

from collections.abc import Sequence

import numpy as np

from plasticity_lab.environments.environments import Ended
from plasticity_lab.records.rows import Episodes


def episodes_of(ended: Sequence[tuple[Ended, int]]) -> Episodes:
    """The episodes that ended, in their order: whose they were, and at which step of the run.

    ended: those of each step of the environments, beside the run's steps by then, all its environments together.
    """
    if not ended:
        nothing = np.zeros(0, np.int64)
        return Episodes(nothing, nothing, {"return": np.zeros(0), "length": np.zeros(0)})
    return Episodes(
        np.concatenate([each.run for each, _ in ended]),
        np.concatenate([np.full(len(each.run), step) for each, step in ended]),
        {
            "return": np.concatenate([each.returns for each, _ in ended]),
            "length": np.concatenate([each.lengths for each, _ in ended]).astype(np.float64),
        },
    )
