"""Table E1: how long each benchmark is, as conf/benchmark/ has it, beside what the paper prints."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.conf import FOLDER, has, option
from analysis.names import NAMES, display
from analysis.reported.reported import lines
from analysis.rows import Row
from analysis.tables.listing import NOTHING, Listing
from analysis.tables.missing import NOT_HERE
from analysis.tables.table import Table

COLUMNS = {"images": "images", "batch": "batch", "epochs": "epochs", "steps": "timesteps", "tasks": "tasks"}
"""What is shown → what the paper's file calls it."""


Counts = Mapping[str, int | None]
Line = tuple[str, str, Counts | None, Counts]
"""A benchmark, which of its tasks, what conf/ says of them if it has any, and what the paper prints."""


def build(table: Table[list[Line]], rows: Sequence[Row], metric_name: str | None) -> list[list[Line]]:
    """The paper's benchmarks in its order, then those that it does not have."""
    paper = {(line["benchmark"], line["tasks_of"]): line for file in table.reported for line in lines(file)}
    there = [path.stem for path in sorted((FOLDER / "benchmark").glob("*.yaml"))]
    known = [name for name in there if "batch_size" in option("benchmark", name)]
    names = list(dict.fromkeys([*(benchmark for benchmark, _ in paper), *known]))
    found: list[Line] = []
    for benchmark in names:
        ours = schedules(option("benchmark", benchmark))
        kinds = list(ours) or [kind for name, kind in paper if name == benchmark]
        for kind in kinds:
            theirs = paper.get((benchmark, kind))
            printed = {what: int(theirs[column]) if theirs else None for what, column in COLUMNS.items()}
            found.append((benchmark, kind, ours.get(kind), printed))
    return [found]


def render(table: Table[list[Line]], found: list[Line]) -> Listing:
    """A line for each benchmark and sort of its tasks."""
    body, listed, bold = [], [], set()
    for benchmark, kind, counts, printed in found:
        cells = [_label(benchmark, kind)]
        for what in COLUMNS:
            if counts and printed[what] is not None and counts[what] == printed[what]:
                bold.add((len(body), len(cells)))
            cells += [_word(counts[what]) if counts else NOTHING, _word(printed[what])]
        body.append(cells)
        listed.append(
            {
                "table": table.name,
                "benchmark": benchmark,
                "tasks_of": kind,
                **(counts or {}),
                **{f"paper_{what}": value for what, value in printed.items()},
                "missing": None if counts else NOT_HERE,
            }
        )
    header = ["benchmark", *(heading for what in COLUMNS for heading in (what, "paper"))]
    right = frozenset(range(1, len(header)))
    return Listing(table.name, table.title, header, body, listed, right=right, bold=frozenset(bold))


def caption(table: Table[list[Line]], found: list[Line]) -> list[str]:
    """By what it was counted, and what this version lacks."""
    names = dict.fromkeys(benchmark for benchmark, *_ in found)
    absent = [display(NAMES["benchmark"], name) for name in names if not has("benchmark", name)]
    return [
        "As the files of conf/benchmark/ have it, for schedule=full; bold: as published. Steps are updates of a task.",
        "Where a task is given by its steps, its epochs are what those come to.",
        f"Paper: what it reports in {table.source}, where epochs of CIFAR 5+1 are approximate.",
        *([f"{', '.join(absent)}: {NOT_HERE}."] if absent else []),
    ]


def schedules(settings: Mapping[str, Any]) -> dict[str, dict[str, int | None]]:
    """Which tasks of a benchmark → images and batch of a task, its epochs and steps, and how many such tasks there are.

    Tasks of several classes and of one follow each other where there are two kinds.  Empty of a benchmark that is not
    there.
    """
    if not settings:
        return {}
    if "classes_per_task" in settings:
        images = settings["classes_per_task"] * settings["images_per_class"]
        return {"all": _counts(settings, images, settings["tasks"])}
    if "classes_hard" not in settings:
        return {"all": _counts(settings, settings["images"], settings["tasks"])}
    hard = (settings["tasks"] + 1) // 2
    kinds = {"hard": hard, "easy": settings["tasks"] - hard}
    return {
        kind: _counts(settings, settings[f"classes_{kind}"] * settings["images_per_class"], tasks)
        for kind, tasks in kinds.items()
    }


def _counts(settings: Mapping[str, Any], images: int, tasks: int) -> dict[str, int | None]:
    batch = settings["batch_size"]
    in_an_epoch = -(-images // batch)
    limits = (settings["steps"], settings["epochs"] and settings["epochs"] * in_an_epoch)
    steps = min(limit for limit in limits if limit is not None)
    epochs = settings["epochs"] or round(steps * batch / images)
    return {"images": images, "batch": batch, "epochs": epochs, "steps": steps, "tasks": tasks}


def _label(benchmark: str, kind: str) -> str:
    shown = display(NAMES["benchmark"], benchmark)
    return shown if kind == "all" else f"{shown}, {kind}"


def _word(value: int | None) -> str:
    return NOTHING if value is None else f"{value:,}"


TABLE_E1 = Table(
    name="tableE1",
    title="Table E1: schedule of each benchmark",
    build=build,
    render=render,
    caption=caption,
    runs="unused",
    rows="benchmark",
    reported=("tableE1_schedule.csv",),
    source="Table E1",
)

TABLES = (TABLE_E1,)
