"""Which diagnostics look at a run: those that its command has chosen."""

from plasticity_lab.diagnostics.diagnostic import Diagnostic, Several
from plasticity_lab.diagnostics.none import NoDiagnostic
from plasticity_lab.run import Run

GROUP = "diagnostics"


def diagnostics_of(run: Run) -> dict[str, Diagnostic]:
    """The diagnostics of a run by the names of their options, in the given order; {} if it has none.  Raises
    ConfigError.
    """
    if not run.addresses(GROUP):
        return {}  # it is older than the group
    found = run.component(GROUP, Diagnostic)
    members = found.members if isinstance(found, Several) else {run.name(GROUP): found}
    return {name: each for name, each in members.items() if not isinstance(each, NoDiagnostic)}


def names_of(run: Run) -> list[str]:
    """The names of `diagnostics_of`, in the form that a record stores."""
    return list(diagnostics_of(run))
