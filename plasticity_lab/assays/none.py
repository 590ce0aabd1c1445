"""No assay: nothing is tried."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from plasticity_lab.assays.assay import Assay
from plasticity_lab.others import Others


class NoAssay(Assay):
    """Nothing is tried; it is left out if assays are taken together."""

    read_if: ClassVar[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {}

    def __init__(self) -> None:
        """It has no settings."""

    def objection(self, others: Others) -> str | None:
        """None: it goes with everything."""
        return None
