"""The runs that are compared with each other: they differ only in the compared setting and the seed.

Runs that differ in another setting form another section. Several benchmarks, or games, are strata of one section.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.compare.setting import ARM, TUNED, all_settings, arms, comes_along, listed, task_of, word
from analysis.conf import groups
from analysis.names import BENCHMARKS, NAMES, display
from analysis.rows import NAMED_BY_THE_ASKER, Row, grouped, key, varying
from analysis.setting_words import words_of
from analysis.where import by_size, comparable
from plasticity_lab.errors import ConfigError

Settings = Mapping[str, Any]
FIRST = ("none", "null", "false")
"""Values that mean "nothing"; they are sorted before all others, and so is the neutral option of a group."""


@dataclass(frozen=True)
class Section:
    """Runs that can be compared.

    words: the settings that other sections do not have, as in "batch_size=16". arms: labels, in the order of tables.
    value_of: label → the value of the setting. strata: benchmark or game → arm → its rows, each run once.
    """

    words: str
    arms: Sequence[str]
    value_of: Mapping[str, Any]
    strata: Mapping[str, Mapping[str, Sequence[Row]]]

    @property
    def rows(self) -> list[Row]:
        """All rows."""
        return [row for arms in self.strata.values() for rows in arms.values() for row in rows]

    def of_strata(self, names: Iterable[str]) -> "Section":
        """The section with only these strata and their arms."""
        strata = {name: self.strata[name] for name in names}
        arms = [arm for arm in self.arms if any(arm in of for of in strata.values())]
        return Section(self.words, arms, {arm: self.value_of[arm] for arm in arms}, strata)


@dataclass(frozen=True)
class _Run:
    """A row with its settings: the value of the compared one, those that change with it, and the rest."""

    row: Row
    task: tuple[str, ...]
    value: Any
    along: Settings
    rest: Settings


def sections(rows: Sequence[Row], by: str) -> tuple[list[Section], list[str]]:
    """The sections with two arms or more, and sentences about the runs in no section.

    Raises ConfigError if there are fewer than two arms, or if all arms differ in another setting as well.
    """
    runs, notes = _runs(rows, by)
    found: list[Section] = []
    lone: list[Section] = []
    for tuned, those in _by_tuning(runs, by).items():
        split = _splitting(those, by)
        groups = grouped(those, lambda run, split=split: key({name: run.rest.get(name) for name in split}))
        for group in sorted(groups.values(), key=lambda of: [word(of[0].rest.get(name)) for name in split]):
            section = _section(group, by, split, tuned)
            if shared := [task for task, arms in section.strata.items() if len(arms) > 1]:
                found.append(section.of_strata(shared))
            lone += [section.of_strata([task]) for task in section.strata if task not in shared]
    known: set[frozenset[str]] = set()
    kept = []
    for section in found:  # runs that were requested under two names are compared once
        ids = frozenset(row.run for row in section.rows)
        kept += [] if ids in known else [section]
        known.add(ids)
    if not kept:
        raise ConfigError(_why_none(runs, by))
    compared = frozenset().union(*known)
    for section in lone:
        if left := {row.run for row in section.rows} - compared:
            where = "".join(f" on {task}" for task in section.strata if task)
            with_words = f" with {section.words}" if section.words else ""
            notes.append(f"Not compared: {len(left)} runs of {section.arms[0]} alone{where}{with_words}.")
    return kept, notes


def _runs(rows: Sequence[Row], by: str) -> tuple[list[_Run], list[str]]:
    """The runs that have the setting, and a sentence about the number of other runs."""
    settings = all_settings(rows)
    if by == ARM:
        return _by_arm(rows, settings), []
    having = [row for row in rows if by in settings[id(row)]]
    runs = []
    parted: dict[tuple[int, bool], tuple[Settings, Settings]] = {}
    for row in having:
        of, tuned = settings[id(row)], row.hyperparams in TUNED
        place = id(of), tuned
        if place not in parted:
            along = {name: value for name, value in of.items() if name != by and comes_along(by, name, tuned)}
            rest = {name: value for name, value in of.items() if name != by and name not in along}
            parted[place] = along, rest
        runs.append(_Run(row, task_of(row), of[by], *parted[place]))
    others = {row.run for row in rows} - {row.run for row in having}
    if not others:
        return runs, []
    group = by.partition(".")[0]
    owners = {
        str(getattr(row, group, None) or row.study.get(f"{group}.name") or row.benchmark)
        for row in rows
        if row.run in others
    }
    return runs, [f"Not compared: {len(others)} runs of {listed(sorted(owners))}, which have no {by}."]


def _by_arm(rows: Sequence[Row], settings: Mapping[int, Settings]) -> list[_Run]:
    """The runs, each with the words of its arm as its value."""
    of_row = arms(rows)
    runs = []
    for row in rows:
        words, own = of_row[id(row)]
        others = {name: value for name, value in settings[id(row)].items() if name not in own}
        along = {name: value for name, value in others.items() if name in NAMED_BY_THE_ASKER}
        rest = {name: value for name, value in others.items() if name not in along}
        runs.append(_Run(row, task_of(row), words, {**along, **own}, rest))
    return runs


def _by_tuning(runs: Sequence[_Run], by: str) -> dict[str, list[_Run]]:
    """Runs by the name of their tuned hyperparameters (chosen for each arm); runs without tuning are under ""."""
    tuned = () if by == "hyperparams" else TUNED
    found = grouped(runs, lambda run: run.row.hyperparams if run.row.hyperparams in tuned else "")
    return dict(sorted(found.items()))


def _splitting(runs: Sequence[_Run], by: str) -> list[str]:
    """The settings that differ between runs of one benchmark or game, without the compared setting.

    If the compared setting only names other settings, as a schedule does, only differences within one arm count.
    """
    alike: dict[tuple[object, ...], list[Settings]] = {}
    for run in runs:
        arm = word(run.value) if by in NAMED_BY_THE_ASKER else ""
        task = () if by == "benchmark" else run.task
        alike.setdefault((task, arm), []).append(run.rest)
    return sorted({name for rests in alike.values() for name in varying(rests)})


def _section(runs: Sequence[_Run], by: str, split: Sequence[str], tuned: str) -> Section:
    """Runs of one section by stratum and arm."""
    telling = _telling(runs)
    games = len({run.task for run in runs if by != "benchmark"}) > 1
    arms: dict[str, tuple[Any, Settings]] = {}
    strata: dict[str, dict[str, dict[str, Row]]] = {}
    for run in runs:
        own = {name: run.along[name] for name in telling[word(run.value)] if name in run.along}
        arm = " ".join([word(run.value), *(f"{name.rpartition('.')[2]}={word(of)}" for name, of in own.items())])
        arms[arm] = run.value, own
        stratum = "" if by == "benchmark" else _task_name(run.task, runs if games else ())
        strata.setdefault(stratum, {}).setdefault(arm, {})[run.row.run] = run.row
    order = sorted(arms, key=lambda arm: _place(by, *arms[arm]))
    shown = [name for name in split if name.partition(".")[0] not in split or "." not in name]
    words = [words_of(runs[0].rest, shown), f"hyperparams={tuned}" if tuned else ""]
    several = {task: {arm: [*of[arm].values()] for arm in order if arm in of} for task, of in sorted(strata.items())}
    return Section(", ".join(filter(None, words)), order, {arm: arms[arm][0] for arm in order}, several)


def _telling(runs: Sequence[_Run]) -> dict[str, list[str]]:
    """Value of the setting → the settings that change with it and differ between its runs on one benchmark."""
    alike: dict[tuple[str, tuple[str, ...]], list[Settings]] = {}
    for run in runs:
        mine = {name: value for name, value in run.along.items() if name not in NAMED_BY_THE_ASKER}
        alike.setdefault((word(run.value), run.task), []).append(mine)
    found: dict[str, set[str]] = {}
    for (value, _), settings in alike.items():
        found.setdefault(value, set()).update(varying(settings))
    return {value: sorted(names) for value, names in found.items()}


def _place(by: str, value: Any, own: Settings) -> tuple[Any, ...]:
    """A sort key of arms: the plain one; numbers by size; names in the papers' order, then other names by letter."""
    known = {name: at for at, name in enumerate(NAMES.get(by, {}))}
    as_word = word(value)
    sizes = [by_size(comparable(of)) for of in own.values()]
    neutral = [of["neutral"] for group, of in groups().items() if "neutral" in of and by in (group, ARM)]
    return (
        not {*as_word.split()} <= {*FIRST, *neutral},
        known.get(as_word, len(known)),
        by_size(comparable(value)),
        sizes,
    )


def _task_name(task: tuple[str, ...], runs: Iterable[_Run]) -> str:
    """A benchmark by its display name, with the game if there are several of them."""
    several = {run.task for run in runs if run.task[0] == task[0]}
    name = display(BENCHMARKS, task[0])
    return f"{name}, {' '.join(task[1:])}" if len(several) > 1 and len(task) > 1 else name


def _why_none(runs: Sequence[_Run], by: str) -> str:
    """Why no two arms can be compared."""
    values = grouped(runs, lambda run: word(run.value))
    if len(values) < 2:
        return f"All runs here have {by}={next(iter(values))}; --by takes a setting that differs between runs."
    split = _splitting(runs, by)
    for name in ["hyperparams", *split]:
        of_arm = {
            value: {word(run.row.hyperparams if name == "hyperparams" else run.rest.get(name)) for run in arm}
            for value, arm in values.items()
        }
        if not _in_two(of_arm):
            said = "; ".join(f"{value}: {', '.join(sorted(of))}" for value, of in of_arm.items())
            return (
                f"The arms of {by} differ in {name} too ({said}), so that a difference would not be of {by} alone; "
                f"train runs that share it, choose some that do with --where {name}=VALUE, or compare --by {name}."
            )
    tasks = {value: {run.task for run in arm} for value, arm in values.items()}
    if not _in_two(tasks):
        said = "; ".join(f"{value}: {', '.join(sorted(task[0] for task in of))}" for value, of in tasks.items())
        return f"No two arms of {by} have runs of one benchmark ({said}); train them on the same."
    names = ", ".join(split)
    return f"No two arms of {by} have runs that share all other settings; they differ in {names}: choose with --where."


def _in_two(of_arm: Mapping[str, set[Any]]) -> bool:
    """Whether two arms have one value."""
    every = [value for of in of_arm.values() for value in of]
    return len(set(every)) < len(every)
