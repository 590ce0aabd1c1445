"""No intervention: the plain run."""

from plasticity_lab.interventions.intervention import Intervention


class NoIntervention(Intervention):
    """Leaves a run as it is: a penalty of zero, and methods that change nothing."""
