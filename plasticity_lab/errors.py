"""The errors that a user can cause. The message of each is one sentence: the fault and the correct input."""


class PlasticityError(Exception):
    """The base class of all these errors; a command prints the message and exits with status 1."""


class ConfigError(PlasticityError):
    """A setting that does not exist, or a value it cannot have."""


class OwnClassError(PlasticityError):
    """A class from outside the package that breaks the contract of its group."""


class DataError(PlasticityError):
    """A data set that is missing, damaged, or could not be downloaded."""


class StoreError(PlasticityError):
    """A store that cannot be read or written."""


class InputError(PlasticityError, ValueError):
    """Examples with a shape or a dtype that a network does not accept."""


class PlanError(PlasticityError):
    """Runs that cannot be planned: none at all, or one that fits no device."""


class HelperLost(PlasticityError):
    """A helper process has ended, and the state in it is lost; the runs are not the cause."""
