"""hyperparams=best: what papers report as best, of an activation on a benchmark, with an intervention or without."""

from collections.abc import Iterator

from launch.runs.values.place import Combination, FoundValues, LearningRates, unpinned
from launch.runs.values.published import Rows, Tables
from launch.runs.values.with_intervention import WithIntervention, has_strength


class LookUp:
    """Published values for the places of one command, and what is to be said of them."""

    def __init__(self, tables: Tables) -> None:
        self._rows, self._with_intervention, self._rates = Rows(tables), WithIntervention(tables), LearningRates()

    def found(self, place: Combination) -> Iterator[FoundValues]:
        """The published values of an activation on a benchmark, and of the intervention; none if there are none."""
        row = self._rows.row(place.rule.look_up, place)
        asked = {} if row is not None else {"published": "nothing, so defaults"}
        values = row or {}
        if place.rule.with_intervention is not None and has_strength(place):
            own, said = self._with_intervention.best(place.rule.with_intervention, place)
            values, asked = {**values, **own}, {**asked, **said}
        values = unpinned(values, place)
        if "optimizer" in values and not self._rates.are_for(place):
            del values["optimizer"]
        yield FoundValues(values, asked)

    def notes(self) -> list[str]:
        """Stand-ins, misses, and optimizers for which nothing is published, in one line each."""
        return [*self._rows.notes(), *self._with_intervention.notes(), *self._rates.notes()]
