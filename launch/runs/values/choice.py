"""Where the values of a choice of `hyperparams` come from, by what its file says."""

from collections.abc import Iterable, Sequence

from launch.runs.options import CONF, Options
from launch.runs.settings import Numbers
from launch.runs.values.grids import Grids
from launch.runs.values.place import Found, Place, Source
from launch.runs.values.published import LookUp, Tables
from launch.runs.values.selected import Selection
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store


class Sources:
    """All choices of `hyperparams` that one command names, each for all its places; they read files when asked."""

    def __init__(self, options: Options, command: Settings, numbers: Sequence[Numbers]) -> None:
        tables = Tables(CONF / "published")
        self._published: Source = LookUp(tables)
        self._grids: Source = Grids(tables)
        self._selection: Source = Selection(options, Store(command.store), numbers)

    def found(self, place: Place) -> Iterable[Found]:
        """The values for a place; where its file says nothing, the one answer that names none.  Raises ConfigError."""
        if place.rule.look_up is not None:
            return self._published.found(place)
        if place.rule.grids is not None:
            return self._grids.found(place)
        if place.rule.metric is not None:
            return self._selection.found(place)
        return [Found({})]

    def notes(self) -> list[str]:
        """What is to be said once about all places.  Raises ConfigError."""
        return [*self._published.notes(), *self._grids.notes(), *self._selection.notes()]
