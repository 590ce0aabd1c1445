"""hyperparams=grid: the settings of an activation that its file's named grids list, × learning rates.

A grid lists the paper's values and ours separately. In each, a block of axes means their product, and several blocks
are tried one after another. An axis may move several settings together: `lower, upper: [[0.1, 0.3], [0.6, 0.8]]`.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from launch.runs.arguments import instead
from launch.runs.classes import settings_of
from launch.runs.groups import Activation, BenchmarkAlone, Grid, GridWithIntervention
from launch.runs.values.place import Combination, FoundValues, extras_of, unpinned
from launch.runs.values.published import PublishedValues, has_strength, intervenes, strengths
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.identity import canonical_json

SOURCES = ("paper", "ours")
"""The sources of a grid's values."""

Settings = dict[str, Any]
Block = Mapping[tuple[str, ...], Sequence[Sequence[Any]]]
"""Axes of a product: the settings that move together → their values, each as long as the settings."""


class Grids:
    """The grids of one command's activations, and notes about them."""

    def __init__(self) -> None:
        self._published = PublishedValues()
        self._missing: dict[str, dict[str, None]] = {}
        self._crossed: dict[str, dict[str, None]] = {}
        self._without_strengths: dict[str, None] = {}

    def found(self, place: Combination) -> Iterator[FoundValues]:
        """Every setting of the place's grid, without pinned ones.  Raises ConfigError if there is no such grid."""
        if place.rule.grid_with_intervention is not None and intervenes(place):
            yield from self._with_intervention(place, place.rule.grid_with_intervention)
            return
        name, grid = self._grid(place)
        shapes = self._shapes(place, grid.shapes or name, grid.unite)
        if not shapes:
            raise ConfigError(f"The grid {name} of activation={place.activation.name} has only the typed values.")
        rates = [{"lr": rate} for rate in grid.learning_rates] if self._published.rates_are_for(place) else [{}]
        for shape in shapes:
            for rate in rates:
                yield FoundValues({"activation": shape, "optimizer": rate})

    def notes(self) -> list[str]:
        """Dropped pairs and missing grids, in one line each."""
        lines = []
        for activation, pairs in self._crossed.items():
            lines.append(f"hyperparams: {activation}'s grid is tried without {', '.join(pairs)}: lower is above upper.")
        for grid, names in self._missing.items():
            lines.append(f"hyperparams: there is no grid {grid} for {', '.join(names)}; their defaults are used.")
        for name in self._without_strengths:
            other = "its default, or the value of intervention.strength"
            lines.append(f"hyperparams: intervention={name} lists no strengths to try; it keeps {other}.")
        return lines + self._published.notes()

    def _with_intervention(self, place: Combination, tried: GridWithIntervention) -> Iterator[FoundValues]:
        """Strengths × learning rates, and the place's published values; all at the activation's published shape."""
        shape = unpinned(self._published.row(tried.look_up, place) or {}, place).get("activation", {})
        rates_are_ours = self._published.rates_are_for(place)
        every_rate = dict.fromkeys([*self._grid(place)[1].learning_rates, *tried.learning_rates])
        rates = [{"lr": rate} for rate in every_rate] if rates_are_ours else [{}]
        tried_strengths: list[Settings] = [{}]
        if has_strength(place) and "intervention.strength" not in place.pinned:
            tried_strengths = [{"strength": strength} for strength in strengths(place)] or [{}]
            if tried_strengths == [{}]:
                self._without_strengths[place.parts["intervention"].name] = None
        for strength, rate in itertools.product(tried_strengths, rates):
            yield FoundValues({"activation": shape, "optimizer": rate, "intervention": strength})
        published = self._published.row_with_intervention(tried.unite, place) if tried.unite else None
        if published is not None:
            values = unpinned(published, place)
            rate = values["optimizer"] if rates_are_ours else {}
            yield FoundValues({**values, "activation": shape, "optimizer": rate})

    def _grid(self, place: Combination) -> tuple[str, Grid]:
        """The grid that is asked for, or the benchmark's own, and its name."""
        name = extras_of(place.benchmark, BenchmarkAlone).default_grid if place.rule.grid is None else place.rule.grid
        grids = place.rule.grids or {}
        if name is None:
            right = f"say hyperparams.grid={' or '.join(grids)}"
            raise ConfigError(f"hyperparams=grid: benchmark={place.benchmark.name} has no default_grid; {right}.")
        if name not in grids:
            raise ConfigError(f"There is no hyperparams.grid={name}{instead(name, list(grids))}.")
        return name, grids[name]

    def _shapes(self, place: Combination, name: str, table: str | None) -> list[Settings]:
        """The shapes of the grid, then the published table's; equal ones become one run later."""
        activation = place.activation
        grids = extras_of(activation, Activation).grids or {}
        shapes: list[Settings] = [{}]
        if name in grids:
            pinned = {setting.removeprefix("activation.") for setting in place.pinned}
            shapes = list(combinations(blocks(activation.name, name, grids[name]), pinned))
        elif settings_of(activation.target):
            self._missing.setdefault(name, {})[activation.name] = None
        if table is not None:
            rows = self._published.rows_of(table).items()
            shapes += [unpinned(row, place)["activation"] for (_, of), row in rows if of == activation.name]
        typed = place.nodes["activation"]
        return [shape for shape in shapes if not self._is_crossed(activation.name, typed, shape)]

    def _is_crossed(self, activation: str, typed: Mapping[str, Any], shape: Mapping[str, Any]) -> bool:
        """Whether a random slope's lower bound is above its upper bound, and at least one of them is the grid's."""
        if shape.keys().isdisjoint(("lower", "upper")):
            return False
        lower, upper = ({**typed, **shape}.get(bound) for bound in ("lower", "upper"))
        if not (isinstance(lower, int | float) and isinstance(upper, int | float)) or lower <= upper:
            return False
        self._crossed.setdefault(activation, {})[f"[{lower}, {upper}]"] = None
        return True


def blocks(activation: str, name: str, grid: Any) -> list[Block]:
    """The blocks of a named grid in an activation's file.  Raises ConfigError if the content is no grid."""
    where = f"activation={activation}: grids.{name}"
    if not isinstance(grid, Mapping) or not grid or set(grid) - set(SOURCES):
        raise ConfigError(f"{where} must list its values by source, under {' or '.join(SOURCES)}.")
    all_blocks = []
    for content in grid.values():
        for block in content if isinstance(content, list) else [content]:
            if not isinstance(block, Mapping):
                raise ConfigError(f"{where} must name settings and their values, setting: [value, value].")
            all_blocks.append({_settings(key): _values(where, key, values) for key, values in block.items()})
    return all_blocks


def combinations(grid: Iterable[Block], pinned: Collection[str] = ()) -> Iterator[Settings]:
    """Every combination of each block's axes; pinned settings are left out of their axes, which shortens them."""
    for block in grid:
        axes = []
        for names, values in block.items():
            kept = [at for at, name in enumerate(names) if name not in pinned]
            shortened = ({names[at]: value[at] for at in kept} for value in values)
            axes.append({canonical_json(settings): settings for settings in shortened}.values())
        for parts in itertools.product(*axes):
            yield {name: value for part in parts for name, value in part.items()}


def _settings(key: Any) -> tuple[str, ...]:
    return tuple(name.strip() for name in str(key).split(","))


def _values(where: str, key: Any, values: Any) -> list[list[Any]]:
    width = len(_settings(key))
    if not isinstance(values, list) or not values:
        raise ConfigError(f"{where}: {key} is {values!r}; it must be a list of values.")
    if width == 1:
        return [[value] for value in values]
    for value in values:
        if not isinstance(value, list) or len(value) != width:
            raise ConfigError(f"{where}: {key} has the value {value!r}; it must be a list of {width}.")
    return values
