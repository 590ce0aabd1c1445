"""Who answers for each choice of `hyperparams`, and is made when the first run asks for it."""

from collections.abc import Callable, Iterable, Sequence

from launch.runs.groups import COMPONENTS
from launch.runs.options import CONF, Hyperparams, Options
from launch.runs.settings import Numbers
from launch.runs.values.place import Combination, FoundValues, Source
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store

PUBLISHED = CONF / "published"


class Sources:
    """All choices of `hyperparams` that one command names, each for all its places.

    A source is made, and its module imported, when the first place asks for it: most commands ask for none.
    """

    def __init__(self, options: Options, command: Settings, numbers: Sequence[Numbers]) -> None:
        self._options, self._command, self._numbers = options, command, numbers
        self._made: dict[Callable[[], Source], Source] = {}

    def found(self, place: Combination) -> Iterable[FoundValues]:
        """The values for a place; where its file says nothing, the one answer that names none.  Raises ConfigError."""
        make = self._maker(place.rule)
        if make is None:
            return [FoundValues({})]
        for address, option in place.parts.items():
            if address != option.group and COMPONENTS[option.group].science:
                raise ConfigError(
                    f"hyperparams finds values for one {option.group}, and here {address} is one of several; with "
                    "hyperparams=default they have those of their files, and what is typed."
                )
        if make not in self._made:
            self._made[make] = make()
        return self._made[make].found(place)

    def notes(self) -> list[str]:
        """What is to be said once about all places.  Raises ConfigError."""
        return [line for source in self._made.values() for line in source.notes()]

    def _maker(self, rule: Hyperparams) -> Callable[[], Source] | None:
        if rule.look_up is not None:
            return self._published
        if rule.grids is not None:
            return self._grids
        # A search proposes values itself, and asks for the runs of each.
        return None if rule.metric is None or rule.trials is not None else self._selection

    def _published(self) -> Source:
        from launch.runs.values.best import LookUp
        from launch.runs.values.published import Tables

        return LookUp(Tables(PUBLISHED))

    def _grids(self) -> Source:
        from launch.runs.values.grids import Grids
        from launch.runs.values.published import Tables

        return Grids(Tables(PUBLISHED))

    def _selection(self) -> Source:
        from launch.runs.values.selected import Selection

        return Selection(self._options, Store(self._command.store), self._numbers)
