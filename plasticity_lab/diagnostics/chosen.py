"""Which diagnostics look at a run: those that its command has chosen."""

from plasticity_lab.diagnostics.diagnostic import Diagnostic, Several
from plasticity_lab.diagnostics.none import NoDiagnostic
from plasticity_lab.run import Run

GROUP = "diagnostics"


def diagnostics_of(run: Run) -> dict[str, Diagnostic]:
    """By the names of their options, in the order in which they were named; {} for none.  Raises ConfigError."""
    if not run.addresses(GROUP):
        return {}  # it is older than the group
    found = run.component(GROUP, Diagnostic)
    members = found.members if isinstance(found, Several) else {run.name(GROUP): found}
    return {name: each for name, each in members.items() if not isinstance(each, NoDiagnostic)}


def names_of(run: Run) -> list[str]:
    """The names of `diagnostics_of`, as a record has them."""
    return list(diagnostics_of(run))
