"""What an option's file may hold besides the settings of its class."""

from typing import Any

from pydantic import Field

from launch.runs.groups import GroupName
from plasticity_lab.records.settings import Strict


class Extras(Strict):
    """What an option's file may hold besides the settings of its class: nothing, unless its group has a model here."""


class Activation(Extras):
    """grids: the named grids of `hyperparams=grid`, whose values `values.grids` reads."""

    grids: dict[str, Any] | None = None


class Intervention(Extras):
    """strengths: those of `hyperparams=grid`, in their order.

    Where the published table of an intervention has no row for a place, `hyperparams=best` takes the middle one.
    """

    strengths: list[float] | None = Field(default=None, min_length=1)


class Diagnostic(Extras):
    """members: of an option that is a set, the options that it stands for, some of which may be sets. Its settings are
    those of each member that has them.
    """

    members: list[str] | None = Field(default=None, min_length=1)


class Beside(Extras):
    """default_settings: what settings of other choices are where this one is made and nothing else is said: group →
    option → setting → value. A learning rate that suits one agent does not suit another.
    """

    default_settings: dict[GroupName, dict[str, dict[str, Any]]] = Field(default_factory=dict)
