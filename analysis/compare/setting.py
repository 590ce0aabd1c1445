"""The compared setting, the settings that change with it, and the text of values, keys and lists."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.conf import groups
from analysis.rows import NAMED_BY_THE_ASKER, SEEDS, Row, grouped, varying
from analysis.where import asked_for, comparable, some_of, spelled
from plasticity_lab.errors import ConfigError

Settings = Mapping[str, Any]
GAMES = ("benchmark.bodies", "benchmark.game")
"""The settings that choose a game: runs with different values play different games; they are not different arms."""
ARM = "arm"
"""Compares runs that differ in several settings at once, as the arms of an experiment do."""
TUNED = ("best", "selected")
"""The choices of hyperparameters that give each arm its own settings."""


def _settings(row: Row) -> dict[str, Any]:
    """The choices and settings of a run, by the keys of a command, without its seeds.

    If a command sets the seed of the stream or of the initial weights separately, that seed is a setting. Records leave
    out some groups with a neutral option, as a network's head; then the neutral option is the choice.
    """
    chosen = {name: value for name, value in asked_for(row).items() if name not in SEEDS}
    neutral = {name: of["neutral"] for name, of in groups().items() if "neutral" in of and of.get("science", True)}
    return neutral | chosen | {name: row.study[name] for name in SEEDS if name in row.study}


def arms(rows: Sequence[Row]) -> dict[int, tuple[str, Settings]]:
    """id of a row → the words of its arm, and the arm's settings: all settings that differ between the rows.

    The words name only settings that have different values among the rows that have them.
    """
    of, names = all_settings(rows), _distinguishing(rows)
    making: dict[int, Settings] = {}
    values: dict[str, set[str]] = {}
    for settings in {id(settings): settings for settings in of.values()}.values():
        own = {name: value for name, value in settings.items() if name in names or name.partition(".")[0] in names}
        making[id(settings)] = own
        for name, value in own.items():
            values.setdefault(name, set()).add(word(value))
    shown = sorted((name for name in values if len(values[name]) > 1), key=lambda name: ("." in name, name))
    words = {}
    for place, own in making.items():
        # A choice by its option, a setting with its name, as in "softmoe experts=2".
        options = (
            f"{name.rpartition('.')[2]}={word(own[name])}" if "." in name else word(own[name])
            for name in shown
            if name in own
        )
        words[place] = " ".join(options)
    return {id(row): (words[id(of[id(row)])], making[id(of[id(row)])]) for row in rows}


def _distinguishing(rows: Sequence[Row]) -> list[str]:
    """The settings that differ between arms, without the benchmark and without names of other settings."""
    return [name for name in differing(rows) if name not in (*NAMED_BY_THE_ASKER, "benchmark")]


def all_settings(rows: Iterable[Row]) -> dict[int, Settings]:
    """id of a row → its settings; runs with the same settings get the same object."""
    known: dict[tuple[Any, ...], Settings] = {}
    found = {}
    for row in rows:
        names = (row.benchmark, row.activation, row.intervention, *(getattr(row, name) for name in NAMED_BY_THE_ASKER))
        place = (id(row.own), id(row.study), *names)
        if place not in known:
            known[place] = _settings(row)
        found[id(row)] = known[place]
    return found


def task_of(row: Row) -> tuple[str, ...]:
    """Benchmark and game of a run."""
    return row.benchmark, *(f"{row.study[name]}" for name in GAMES if name in row.study)


def differing(rows: Sequence[Row]) -> list[str]:
    """The settings that differ between runs of one benchmark. If a choice differs, its settings are left out.

    Names of other settings (protocol, schedule, hyperparams) are included only if nothing else differs; so is the
    benchmark.
    """
    of = all_settings(rows)
    alike = grouped(rows, task_of)
    settings = [[of[id(row)] for row in same] for same in alike.values()]
    names = sorted({name for several in settings for name in varying(several)} - set(NAMED_BY_THE_ASKER))
    if all(row.hyperparams in TUNED for row in rows) and any("." not in name for name in names):
        names = [name for name in names if not is_own(name)]
    names = [name for name in names if name.partition(".")[0] not in names or "." not in name]
    by_asker = [name for name in NAMED_BY_THE_ASKER if len({getattr(row, name) for row in rows}) > 1]
    return names or by_asker or (["benchmark"] if len(alike) > 1 else [])


def chosen_setting(rows: Sequence[Row], by: str | None) -> str:
    """The setting with the key `by`, or with a key that ends in it; if `by` is None, the only setting that differs.

    Raises ConfigError, naming the settings that differ, if this is not exactly one setting.
    """
    names = differing(rows)
    if by == ARM and _distinguishing(rows):
        return ARM
    differ = f"the runs here differ in {some_of(names) if names else 'nothing but their seeds'}"
    if by is None:
        if len(names) == 1:
            return names[0]
        advice = "say which, as in" if names else "train others, as with `intervention=none,l2_init`, and name"
        raise ConfigError(
            f"Runs are compared by one setting, and {differ}; {advice} --by {(names or ['intervention'])[0]}"
            f"{f', or --by {ARM} for all of these together' if len(names) > 1 else ''}."
        )
    name = by.removesuffix(".name")
    if name in SEEDS:
        raise ConfigError(
            f"Runs of different {name} are replicates of each other, which --by cannot compare; {differ}."
        )
    keys = {key for settings in all_settings(rows).values() for key in settings}
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
    """Whether another setting changes with the setting `by`, so that it is not a separate difference.

    A choice changes its settings; a benchmark changes the network and the agent that it names. tuned: whether the
    hyperparameters were chosen for each arm separately.
    """
    if name in NAMED_BY_THE_ASKER or name == by or name.startswith(f"{by}."):
        return True
    if by == "benchmark":
        return name.partition(".")[0] in {group for group, declared in groups().items() if "auto" in declared}
    return is_own(name) and (tuned or by == "hyperparams")


# Words.


def word(value: Any) -> str:
    """A value as a command gives it."""
    return spelled(comparable(value))


def short(key: str) -> str:
    """A key without its group, and with spaces."""
    return key.rpartition(".")[2].replace("_", " ")


def listed(words: Sequence[str]) -> str:
    """Words in a sentence, as in "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def together(names: Sequence[str]) -> str:
    """Names in a row; semicolons separate them if some have commas, as "atari, pong" has."""
    return ("; " if any(", " in name for name in names) else ", ").join(names)
