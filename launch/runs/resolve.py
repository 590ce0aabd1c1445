"""From the words of a command to its runs."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from launch.runs.addresses import filled, places_of
from launch.runs.answers import answer
from launch.runs.arguments import check_count, parse
from launch.runs.combinations import combination
from launch.runs.desk import Desk, Misfit, Part, merged, runs_of
from launch.runs.groups import COMPONENTS
from launch.runs.options import Option, Options
from launch.runs.presets import Preset
from launch.runs.remarks import remarks
from launch.runs.requests import Request, requests_of
from launch.runs.unread import unread
from launch.runs.values.place import Combination, put
from launch.runs.values.sources import Sources
from launch.wording import said_while
from plasticity_lab import component
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.searches.space import Range
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.targets import measures_of
from plasticity_lab.run import Run, group_of


@dataclass(frozen=True)
class Resolved:
    """What a command asks for: its runs, what to say once, and how to compute them."""

    runs: list[Run]
    notes: list[str]
    settings: Settings


@said_while("Reading the command's choices")
def resolved(options: Options, preset: Preset, typed: Sequence[str]) -> Resolved:
    """The runs that an experiment's words and the typed words name together; a typed word replaces the experiment's.

    Raises ConfigError in a sentence that names the first thing wrong; nothing has been queued or written then.
    """
    requests, repeated = requests_of(options, preset, typed)
    for request in requests:
        _check_no_range(request)
    sources = Sources(options, requests[0].settings, requests[0].numbers)
    left_out: dict[str, None] = {}
    runs = merged(run for request in requests for run in runs_named(options, request, sources, left_out))
    if not runs and left_out:
        raise ConfigError(next(iter(left_out)))
    without = [f"Left out of the sweep: {sentence}" for sentence in left_out]
    notes = [*repeated, *options.notes, *sources.notes(), *without, *remarks(runs)]
    notes += unread(parse(typed, options.vocabulary).values, runs, requests[0].settings)
    return Resolved(runs, notes, requests[0].settings)


def _check_no_range(request: Request) -> None:
    """Raises ConfigError for a range, which is no list of values."""
    ranges = [key for key, values in request.swept.items() if any(isinstance(value, Range) for value in values)]
    if ranges:
        raise ConfigError(
            f"{ranges[0]} is given a range, in which hyperparams=search looks for the best value; several values are "
            f"written {ranges[0]}=one,other."
        )


def runs_named(options: Options, request: Request, sources: Sources, left_out: dict[str, None]) -> Iterator[Run]:
    """A run for each combination of choices, values, values found by `hyperparams`, and numbers; some may be equal.

    left_out: gets a sentence for each combination that is none, where a sweep names others beside it.
    """
    desk, count = Desk(), 0
    for names in itertools.product(*request.choices.values()):
        asked = dict(zip(request.choices, names, strict=True)) | {"experiment": options.experiment}
        parts, nodes, hyperparams = combination(options, asked, request.adjusted_by(asked))
        swept = request.swept_by(asked)
        asked = {group: name for group, name in asked.items() if group not in COMPONENTS or COMPONENTS[group].science}
        pinned = [".".join(place) for place in places_of(swept, parts).values()]
        for own in filled(nodes, parts, swept):
            for found in sources.found(Combination(hyperparams, parts, own, pinned)):
                complete = put(found.values, own)
                chosen = {address: _part(desk, address, of, complete[address]) for address, of in parts.items()}
                try:
                    desk.check_fit(chosen)
                except Misfit as error:
                    if len(request.choices["intervention"]) == 1 and len(request.choices["head"]) == 1:
                        raise
                    left_out[str(error)] = None
                    continue
                check_columns(chosen)
                count += len(request.numbers)
                check_count({f"hyperparams={asked['hyperparams']}, and there are more": count})
                yield from runs_of(chosen, request.numbers, {**asked, **found.asked})


def _part(desk: Desk, address: str, option: Option, settings: Mapping[str, Any]) -> Part:
    try:
        return desk.part(option.group, option.name, option.target or "", settings)
    except ConfigError as error:
        if address == option.group:
            raise
        raise ConfigError(f"{address}: {error}") from error  # which of several options is meant


# Whether the columns that a run's diagnostics leave have names of their own, before anything is trained.

DIAGNOSTICS = "diagnostics"


def check_columns(parts: Mapping[str, Part]) -> None:
    """Raises ConfigError for a column that two diagnostics have, or that the runs have without them.

    parts: of a run, by address. Columns of single layers are not known yet; they are asked for without any.
    """
    chosen = {at: part for at, part in parts.items() if group_of(at) == DIAGNOSTICS}
    chosen = {at: part for at, part in chosen.items() if part.science["name"] != COMPONENTS[DIAGNOSTICS].neutral}
    if not chosen:
        return

    def ask() -> bool:
        _check_columns(chosen, parts)
        return True

    answer("columns", [part.target for part in parts.values()], {at: part.science for at, part in parts.items()}, ask)


def _check_columns(chosen: Mapping[str, Part], parts: Mapping[str, Part]) -> None:
    """Raises as `check_columns`.  chosen: the diagnostics among the parts."""
    from plasticity_lab.diagnostics import diagnostic  # torch

    built = {}
    for part in chosen.values():
        settings = {key: value for key, value in part.science.items() if key != "name"}
        name = part.science["name"]
        built[name] = component.build(DIAGNOSTICS, name, part.target, settings)
        try:
            built[name].columns([])
        except Exception as error:  # somebody's own code can raise anything
            raise ConfigError(
                f"diagnostics={name}: its 'columns' fails where it is given no units "
                f"({type(error).__name__}: {error}); "
                "before the network is known it must return the columns of the whole network."
            ) from error
    targets = {at: part.target for at, part in parts.items() if at not in chosen}
    known = measures_of(targets, {at: part.science for at, part in parts.items()})
    diagnostic.check_columns(diagnostic.columns_of(built, []), [column.name for column in known.columns])
