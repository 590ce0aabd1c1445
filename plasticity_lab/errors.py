"""The errors a user can cause. Each carries one sentence: what was wrong, and what would be right."""


class PlasticityError(Exception):
    """The base of all of them; a command prints its sentence and exits with status 1."""


class ConfigError(PlasticityError):
    """A setting that does not exist, or a value it cannot have."""


class OwnClassError(PlasticityError):
    """A class from outside the package that does not do what its group promises."""


class DataError(PlasticityError):
    """A data set that is missing, damaged, or could not be downloaded."""


class StoreError(PlasticityError):
    """A store that cannot be read or written."""


class InputError(PlasticityError, ValueError):
    """Examples that a network cannot take: of another shape or kind."""


class PlanError(PlasticityError):
    """Runs that cannot be planned: none at all, or one that fits no device."""


class HelperLost(PlasticityError):
    """A process that helped this one has ended: nothing that the runs did, and nothing that it held can be had back."""
