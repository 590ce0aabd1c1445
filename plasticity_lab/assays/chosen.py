"""Which assays are tried on a run: those that its command has chosen."""

from plasticity_lab.assays.assay import Assay, Several
from plasticity_lab.assays.none import NoAssay
from plasticity_lab.run import ASSAY, Run


def assays_of(run: Run) -> dict[str, Assay]:
    """The assays of a run by the names of their options, in the given order; {} if it has none.  Raises ConfigError."""
    if not run.addresses(ASSAY):
        return {}  # it is older than the group
    found = run.component(ASSAY, Assay)
    members = found.members if isinstance(found, Several) else {run.name(ASSAY): found}
    return {name: each for name, each in members.items() if not isinstance(each, NoAssay)}
