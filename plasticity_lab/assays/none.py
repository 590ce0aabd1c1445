"""No assay: nothing is tried."""

from plasticity_lab.assays.assay import Assay
from plasticity_lab.component import with_settings


@with_settings
class NoAssay(Assay):
    """Nothing is tried; it is left out if assays are taken together."""
