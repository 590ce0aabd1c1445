"""Where the values of a choice of `hyperparams` come from, by what its file says."""

from collections.abc import Callable, Iterable, Sequence

from launch.runs.options import CONF, Options
from launch.runs.settings import Numbers
from launch.runs.values.grids import Grids
from launch.runs.values.place import Found, Place, Source
from launch.runs.values.published import LookUp, Tables
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store


class Sources:
    """All choices of `hyperparams` that one command names, each for all its places."""

    def __init__(self, options: Options, command: Settings, numbers: Sequence[Numbers]) -> None:
        tables = Tables(CONF / "published")

        def selection() -> Source:
            from launch.runs.values.selected import Selection  # reads Parquet; most commands need not wait for it

            return Selection(options, Store(command.store), numbers)

        self._make: dict[str, Callable[[], Source]] = {
            "look_up": lambda: LookUp(tables),
            "grids": lambda: Grids(tables),
            "metric": selection,
        }
        self._made: dict[str, Source] = {}

    def found(self, place: Place) -> Iterable[Found]:
        """The values for a place; where its file says nothing, the one answer that names none.  Raises ConfigError."""
        kind = next((key for key in self._make if place.rule.extras[key] is not None), None)
        if kind is None:
            return [Found({})]
        if kind not in self._made:
            self._made[kind] = self._make[kind]()
        return self._made[kind].found(place)

    def notes(self) -> list[str]:
        """What is to be said once about all places.  Raises ConfigError."""
        return [line for source in self._made.values() for line in source.notes()]
