"""Which runs are compared with each other: those that differ in nothing but the setting and the seed.

Runs that differ in another setting stand in another section. Several benchmarks, or games, are strata of one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.compare.setting import ARM, TUNED, all_settings, arms, comes_along, task_of
from analysis.compare.words import label, listed, place, word
from analysis.names import BENCHMARKS, display
from analysis.rows import NAMED_BY_THE_ASKER, Row, key, varying
from analysis.setting_words import words_of
from plasticity_lab.errors import ConfigError

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Section:
    """Runs that can be compared.

    words: what tells it from other sections, as in "batch_size=16". arms: their labels, in order. value_of: label → the
    value of the setting. strata: benchmark or game → arm → its rows, each run once.
    """

    words: str
    arms: Sequence[str]
    value_of: Mapping[str, Any]
    strata: Mapping[str, Mapping[str, Sequence[Row]]]

    @property
    def rows(self) -> list[Row]:
        """All of them."""
        return [row for arms in self.strata.values() for rows in arms.values() for row in rows]


@dataclass(frozen=True)
class _Run:
    """A row with what is asked of it: the value of the setting, all that comes along, and the rest."""

    row: Row
    task: tuple[str, ...]
    value: Any
    along: Settings
    rest: Settings


def sections(rows: Sequence[Row], by: str) -> tuple[list[Section], list[str]]:
    """The sections with two arms or more, and sentences about the runs that stand in none.

    Raises ConfigError where there are not two arms to compare, and where all arms differ in another setting as well.
    """
    runs, notes = _runs(rows, by)
    found: list[Section] = []
    lone: list[Section] = []
    for tuned, those in _by_tuning(runs, by).items():
        split = _splitting(those, by)
        groups: dict[str, list[_Run]] = {}
        for run in those:
            groups.setdefault(key({name: run.rest.get(name) for name in split}), []).append(run)
        for group in sorted(groups.values(), key=lambda of: [word(of[0].rest.get(name)) for name in split]):
            section = _section(group, by, split, tuned)
            shared = {task: arms for task, arms in section.strata.items() if len(arms) > 1}
            alone = {task: arms for task, arms in section.strata.items() if len(arms) == 1}
            found += [_of_strata(section, shared)] * bool(shared)
            lone += [_of_strata(section, {task: arms}) for task, arms in alone.items()]
    known: set[frozenset[str]] = set()
    kept = []
    for section in found:  # runs that were asked for under two names are compared once
        ids = frozenset(row.run for row in section.rows)
        kept += [] if ids in known else [section]
        known.add(ids)
    if not kept:
        raise ConfigError(_why_none(runs, by))
    compared = {row.run for section in kept for row in section.rows}
    for section in lone:
        if left := {row.run for row in section.rows} - compared:
            where = "".join(f" on {task}" for task in section.strata if task)
            with_words = f" with {section.words}" if section.words else ""
            notes.append(f"Not compared: {len(left)} runs of {section.arms[0]} alone{where}{with_words}.")
    return kept, notes


def _runs(rows: Sequence[Row], by: str) -> tuple[list[_Run], list[str]]:
    """The runs that have the setting, and how many others there are."""
    settings = all_settings(rows)
    if by == ARM:
        return _by_arm(rows, settings), []
    having = [row for row in rows if by in settings[id(row)]]
    tuned = {id(row): row.hyperparams in TUNED for row in having}
    runs = []
    parted: dict[tuple[int, bool], tuple[Settings, Settings]] = {}
    for row in having:
        of = settings[id(row)]
        place = id(of), tuned[id(row)]
        if place not in parted:
            along = {name: value for name, value in of.items() if comes_along(by, name, tuned[id(row)]) and name != by}
            rest = {name: value for name, value in of.items() if name not in along and name != by}
            parted[place] = along, rest
        runs.append(_Run(row, task_of(row), of[by], *parted[place]))
    others = {row.run for row in rows} - {row.run for row in having}
    lacking = [row for row in rows if row.run in others]
    names = listed(sorted({_owner(row, by) for row in lacking}))
    notes = [f"Not compared: {len(others)} runs of {names}, which have no {by}."] if others else []
    return runs, notes


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


def _owner(row: Row, by: str) -> str:
    """The option of the setting's group that a run has."""
    group = by.partition(".")[0]
    return str(getattr(row, group, None) or row.study.get(f"{group}.name") or row.benchmark)


def _by_tuning(runs: Sequence[_Run], by: str) -> dict[str, list[_Run]]:
    """Runs whose hyperparameters were chosen for each arm by the name of that choice, and all others."""
    if by == "hyperparams":
        return {"": list(runs)}
    found: dict[str, list[_Run]] = {}
    for run in runs:
        name = run.row.hyperparams if run.row.hyperparams in TUNED else ""
        found.setdefault(name, []).append(run)
    return dict(sorted(found.items()))


def _splitting(runs: Sequence[_Run], by: str) -> list[str]:
    """The settings, beside the one that is compared, in which runs of one benchmark or game differ.

    Of names that stand for other settings (a schedule) those alone count in which runs of one arm differ.
    """
    alike: dict[tuple[object, ...], list[Settings]] = {}
    for run in runs:
        arm = word(run.value) if by in NAMED_BY_THE_ASKER else ""
        task = () if by == "benchmark" else run.task
        alike.setdefault((task, arm), []).append(run.rest)
    return sorted({name for rests in alike.values() for name in varying(rests)})


def _section(runs: Sequence[_Run], by: str, split: Sequence[str], tuned: str) -> Section:
    """Runs of one section by stratum and arm."""
    telling = _telling(runs, by)
    games = len({run.task for run in runs if by != "benchmark"}) > 1
    arms: dict[str, tuple[Any, Settings]] = {}
    strata: dict[str, dict[str, dict[str, Row]]] = {}
    for run in runs:
        own = {name: run.along[name] for name in telling.get(word(run.value), ()) if name in run.along}
        arm = label(run.value, own)
        arms[arm] = run.value, own
        stratum = "" if by == "benchmark" else _task_name(run.task, runs if games else ())
        strata.setdefault(stratum, {}).setdefault(arm, {})[run.row.run] = run.row
    order = sorted(arms, key=lambda arm: place(by, *arms[arm]))
    shown = [name for name in split if name.partition(".")[0] not in split or "." not in name]
    words = [words_of(runs[0].rest, shown), f"hyperparams={tuned}" if tuned else ""]
    several = {task: {arm: [*of[arm].values()] for arm in order if arm in of} for task, of in sorted(strata.items())}
    return Section(", ".join(filter(None, words)), order, {arm: arms[arm][0] for arm in order}, several)


def _of_strata(section: Section, strata: Mapping[str, Mapping[str, Sequence[Row]]]) -> Section:
    """The same with some of its strata, and the arms that are there."""
    arms = [arm for arm in section.arms if any(arm in of for of in strata.values())]
    return Section(section.words, arms, {arm: section.value_of[arm] for arm in arms}, strata)


def _telling(runs: Sequence[_Run], by: str) -> dict[str, list[str]]:
    """Value of the setting → what of that which comes along differs between its runs on one benchmark."""
    alike: dict[tuple[str, tuple[str, ...]], list[Settings]] = {}
    for run in runs:
        mine = {name: value for name, value in run.along.items() if name not in NAMED_BY_THE_ASKER}
        alike.setdefault((word(run.value), run.task), []).append(mine)
    found: dict[str, set[str]] = {}
    for (value, _), settings in alike.items():
        found.setdefault(value, set()).update(varying(settings))
    return {value: sorted(names) for value, names in found.items()}


def _task_name(task: tuple[str, ...], runs: Iterable[_Run]) -> str:
    """A benchmark by its display name, with the game where it is there with several."""
    several = {run.task for run in runs if run.task[0] == task[0]}
    name = display(BENCHMARKS, task[0])
    return f"{name}, {' '.join(task[1:])}" if len(several) > 1 and len(task) > 1 else name


def _why_none(runs: Sequence[_Run], by: str) -> str:
    """Why no two arms can be compared."""
    values: dict[str, list[_Run]] = {}
    for run in runs:
        values.setdefault(word(run.value), []).append(run)
    if len(values) < 2:
        return f"All runs here have {by}={next(iter(values))}; --by takes a setting in which runs differ."
    by_task: dict[str, set[tuple[str, ...]]] = {value: {run.task for run in of} for value, of in values.items()}
    for name in ["hyperparams", *_splitting(runs, by)]:
        of_arm = {value: {word(_of(run, name)) for run in alike} for value, alike in values.items()}
        shared = set.intersection(*of_arm.values()) if len(of_arm) == 2 else _in_two(of_arm)
        if not shared:
            said = "; ".join(f"{value}: {', '.join(sorted(of))}" for value, of in of_arm.items())
            return (
                f"The arms of {by} differ in {name} too ({said}), so that a difference would not be of {by} alone; "
                f"train runs that share it, choose some that do with --where {name}=VALUE, or compare --by {name}."
            )
    if not _in_two({value: {str(task) for task in tasks} for value, tasks in by_task.items()}):
        said = "; ".join(f"{value}: {', '.join(sorted(task[0] for task in of))}" for value, of in by_task.items())
        return f"No two arms of {by} have runs of one benchmark ({said}); train them on the same."
    names = ", ".join(_splitting(runs, by))
    return f"No two arms of {by} have runs that share all other settings; they differ in {names}: choose with --where."


def _of(run: _Run, name: str) -> Any:
    return run.row.hyperparams if name == "hyperparams" else run.rest.get(name)


def _in_two(of_arm: Mapping[str, set[str]]) -> set[str]:
    """The values that two arms have."""
    every = [value for of in of_arm.values() for value in of]
    return {value for value in every if every.count(value) > 1}
