"""No diagnostic: nothing is looked at."""

from plasticity_lab.diagnostics.diagnostic import Diagnostic


class NoDiagnostic(Diagnostic):
    """The run is not looked at; it is left out wherever diagnostics are taken together."""

    requires = frozenset()
