"""The setting by which runs are compared: found among those that runs have, and what a change of it brings along."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.compare.words import word
from analysis.conf import groups
from analysis.rows import NAMED_BY_THE_ASKER, SEEDS, Row, varying
from analysis.where import asked_for, some_of
from plasticity_lab.errors import ConfigError

Settings = Mapping[str, Any]
GAMES = ("benchmark.bodies", "benchmark.game")
"""What a benchmark is played with: runs that differ there are of other games, and not of another setting."""
ARM = "arm"
"""By it runs are compared that differ in several settings at once, as the arms of an experiment do."""
TUNED = ("best", "selected")
"""The choices of hyperparameters that give each arm settings of its own."""


def settings(row: Row) -> dict[str, Any]:
    """The choices and settings of a run, by the keys of a command, without its seeds.

    A seed of the stream or of the first weights that a command sets apart from the others is a setting. Of a group that
    records leave out where its option is neutral, as a network's head, that option is the choice.
    """
    found = {name: value for name, value in asked_for(row).items() if name not in SEEDS}
    neutral = {name: of["neutral"] for name, of in groups().items() if "neutral" in of and of.get("science", True)}
    return neutral | found | {name: row.study[name] for name in SEEDS if name in row.study}


def arms(rows: Sequence[Row]) -> dict[int, tuple[str, Settings]]:
    """id of a row → the words of its arm, and the settings that make it: all in which the rows differ, and their own.

    The words are of those settings that differ between the rows which have them.
    """
    of, names = all_settings(rows), _told_apart(rows)
    making: dict[int, Settings] = {}
    values: dict[str, set[str]] = {}
    for each in {id(settings): settings for settings in of.values()}.values():
        own = {name: value for name, value in each.items() if name in names or name.partition(".")[0] in names}
        making[id(each)] = own
        for name, value in own.items():
            values.setdefault(name, set()).add(word(value))
    shown = sorted((name for name in values if len(values[name]) > 1), key=lambda name: ("." in name, name))
    words = {place: " ".join(_words(name, own[name]) for name in shown if name in own) for place, own in making.items()}
    return {id(row): (words[id(of[id(row)])], making[id(of[id(row)])]) for row in rows}


def _words(name: str, value: Any) -> str:
    """A choice by its option; a setting by its own name and value, as in "hidden=512"."""
    return f"{name.rpartition('.')[2]}={word(value)}" if "." in name else word(value)


def _told_apart(rows: Sequence[Row]) -> list[str]:
    """The settings by which arms can be told apart: those that differ, without names that stand for others."""
    return [name for name in differing(rows) if name not in (*NAMED_BY_THE_ASKER, "benchmark")]


def all_settings(rows: Iterable[Row]) -> dict[int, Settings]:
    """id of a row → its settings; runs with the same settings get the same object."""
    known: dict[tuple[Any, ...], Settings] = {}
    found = {}
    for row in rows:
        names = (row.benchmark, row.activation, row.intervention, *(getattr(row, name) for name in NAMED_BY_THE_ASKER))
        place = (id(row.own), id(row.study), *names)
        if place not in known:
            known[place] = settings(row)
        found[id(row)] = known[place]
    return found


def task_of(row: Row) -> tuple[str, ...]:
    """Benchmark and game of a run."""
    games = [f"{row.study[name]}" for name in GAMES if name in row.study]
    return (row.benchmark, *games)


def differing(rows: Sequence[Row]) -> list[str]:
    """The settings in which runs of one benchmark differ; of a choice that differs its own settings are left out.

    Names that stand for other settings (protocol, schedule, hyperparams) only where nothing else differs; so is the
    benchmark.
    """
    of = all_settings(rows)
    alike: dict[tuple[str, ...], list[Settings]] = {}
    for row in rows:
        alike.setdefault(task_of(row), []).append(of[id(row)])
    names = sorted({name for each in alike.values() for name in varying(each)} - set(NAMED_BY_THE_ASKER))
    if all(row.hyperparams in TUNED for row in rows):
        chosen = [name for name in names if "." not in name]
        names = [name for name in names if not (chosen and is_own(name))]
    names = [name for name in names if name.partition(".")[0] not in names or "." not in name]
    by_asker = [name for name in NAMED_BY_THE_ASKER if len({getattr(row, name) for row in rows}) > 1]
    return names or by_asker or (["benchmark"] if len(alike) > 1 else [])


def chosen_setting(rows: Sequence[Row], by: str | None) -> str:
    """The setting that a word names, by its key or by the end of it; without a word the only one that differs.

    Raises ConfigError, naming what differs.
    """
    there = differing(rows)
    if by == ARM and _told_apart(rows):
        return ARM
    differ = f"the runs here differ in {some_of(there)}" if there else "the runs here differ in nothing but their seeds"
    if by is None:
        if len(there) == 1:
            return there[0]
        advice = "say which, as in" if there else "train others, as with `intervention=none,l2_init`, and name"
        raise ConfigError(
            f"Runs are compared by one setting, and {differ}; {advice} --by {(there or ['intervention'])[0]}"
            f"{f', or --by {ARM} for all of these together' if len(there) > 1 else ''}."
        )
    name = by.removesuffix(".name")
    if name in SEEDS:
        raise ConfigError(
            f"Runs of different {name} are replicates of each other, which --by cannot compare; {differ}."
        )
    keys = {key for each in all_settings(rows).values() for key in each}
    ends = sorted(key for key in keys if key.endswith(f".{name}"))
    if name in keys:
        return name
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise ConfigError(f"'{by}' could be {some_of(ends)}; give --by the whole key.")
    raise ConfigError(f"No run has the setting '{by}'; {differ}.")


def is_own(name: str) -> bool:
    """Whether a setting is tuned for each arm: one of the activation or the intervention, or the learning rate."""
    return name == "optimizer.lr" or name.startswith(("activation.", "intervention."))


def comes_along(by: str, name: str, tuned: bool) -> bool:
    """Whether a change of the setting `by` brings one of another setting, so that it is no other difference.

    A choice brings its own settings, a benchmark the network and the agent that it names itself; tuned: whether each
    arm has hyperparameters that were chosen for it.
    """
    if name in NAMED_BY_THE_ASKER or name == by or name.startswith(f"{by}."):
        return True
    if by == "benchmark":
        return name.partition(".")[0] in {group for group, declared in groups().items() if "auto" in declared}
    if by == "hyperparams":
        return is_own(name)
    return tuned and is_own(name)
