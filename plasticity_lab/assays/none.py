"""No assay: nothing is tried."""

from plasticity_lab.assays.assay import Assay


class NoAssay(Assay):
    """Nothing is tried; it is left out if assays are taken together."""

    def __init__(self) -> None:
        """It has no settings."""
