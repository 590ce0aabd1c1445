"""No perturbation: every epoch is as it comes."""

from plasticity_lab.perturbations.perturbation import Perturbation


class NoPerturbation(Perturbation):
    """Leaves a run as it is."""

    perturbs = False
