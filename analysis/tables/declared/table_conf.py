"""Table E1, and Table 1 of the second paper: settings in conf/ next to the printed ones.

Table E1 has the length of each benchmark, the second paper has the settings of its value agents.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.conf import FOLDER, has, option
from analysis.names import NAMES, display
from analysis.reported import lines
from analysis.rows import Row
from analysis.tables.listing import NOTHING, Listing
from analysis.tables.missing import NOT_HERE
from analysis.tables.table import Table

COLUMNS = {"images": "images", "batch": "batch", "epochs": "epochs", "steps": "timesteps", "tasks": "tasks"}
"""Our names of columns → the names in the paper's file."""
Counts = Mapping[str, int | None]
Schedule = tuple[str, str, Counts | None, Counts]
"""A benchmark, the kind of its tasks, its counts in conf/ (None if conf/ lacks it), and the paper's counts."""


def build(table: Table[list[Schedule]], rows: Sequence[Row], metric_name: str | None) -> list[list[Schedule]]:
    """The paper's benchmarks in its order, then all others."""
    paper = {(line["benchmark"], line["tasks_of"]): line for file in table.reported for line in lines(file)}
    there = [path.stem for path in sorted((FOLDER / "benchmark").glob("*.yaml"))]
    known = [name for name in there if "batch_size" in option("benchmark", name)]
    content: list[Schedule] = []
    for benchmark in dict.fromkeys([*(name for name, _ in paper), *known]):
        ours = schedules(option("benchmark", benchmark))
        for kind in list(ours) or [kind for name, kind in paper if name == benchmark]:
            theirs = paper.get((benchmark, kind))
            printed = {name: int(theirs[column]) if theirs else None for name, column in COLUMNS.items()}
            content.append((benchmark, kind, ours.get(kind), printed))
    return [content]


def render(table: Table[list[Schedule]], content: list[Schedule]) -> Listing:
    """One line for each benchmark and kind of its tasks."""
    body, listed, bold = [], [], set()
    for benchmark, kind, counts, printed in content:
        cells = [_label(benchmark, kind)]
        for name in COLUMNS:
            if counts and printed[name] is not None and counts[name] == printed[name]:
                bold.add((len(body), len(cells)))
            cells += [_word(counts[name]) if counts else NOTHING, _word(printed[name])]
        body.append(cells)
        line = {"table": table.name, "benchmark": benchmark, "tasks_of": kind, **(counts or {})}
        line |= {f"paper_{name}": value for name, value in printed.items()}
        listed.append({**line, "missing": None if counts else NOT_HERE})
    header = ["benchmark", *(heading for name in COLUMNS for heading in (name, "paper"))]
    right = frozenset(range(1, len(header)))
    return Listing(table.name, table.title, header, body, listed, right=right, bold=frozenset(bold))


def caption(table: Table[list[Schedule]], content: list[Schedule]) -> list[str]:
    """The source of the counts, and the benchmarks that this version lacks."""
    names = dict.fromkeys(benchmark for benchmark, *_ in content)
    absent = [display(NAMES["benchmark"], name) for name in names if not has("benchmark", name)]
    return [
        "From the files of conf/benchmark/, for schedule=full; bold: as published. Steps are updates of a task.",
        "If a task is given by its steps, its epochs follow from them.",
        f"Paper: reported in {table.source}, where epochs of CIFAR 5+1 are approximate.",
        *([f"{', '.join(absent)}: {NOT_HERE}."] if absent else []),
    ]


def schedules(settings: Mapping[str, Any]) -> dict[str, dict[str, int | None]]:
    """Kind of tasks → images, batch size, epochs and steps of a task, and the number of such tasks.

    The kinds are "hard" and "easy" if tasks with several classes alternate with tasks of one class; otherwise the only
    kind is "all". Empty if the settings are empty.
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


AGENTS = {"dqn": "DQN", "rainbow_lite": "Rainbow-lite", "rainbow": "Rainbow", "der": "DER"}
"""Agents of conf/agent/; the paper prints no settings of Rainbow-lite."""
SettingLine = dict[str, Any]


def settings_of_agents(
    table: Table[list[SettingLine]], rows: Sequence[Row], metric_name: str | None
) -> list[list[SettingLine]]:
    """One line for each of the paper's settings: our value and the paper's, for every agent."""
    content: list[SettingLine] = []
    for printed in lines(table.reported[0]):
        line: SettingLine = {"table": table.name, "setting": printed["hyper_parameter"]}
        for name in AGENTS:
            line[name] = _value(name, printed["conf_group"], printed["conf_key"]) if printed["conf_key"] else None
            line[f"{name} in the paper"] = printed.get(name) or None
        content.append(line)
    return [content]


def agents_in_words(table: Table[list[SettingLine]], content: list[SettingLine]) -> Listing:
    """The same lines as words; the paper's value is in brackets if it differs."""
    body = [
        [line["setting"], *(_setting_cell(line[name], line[f"{name} in the paper"]) for name in AGENTS)]
        for line in content
    ]
    return Listing(table.name, table.title, ["setting", *AGENTS.values()], body, content)


def about_agents(table: Table[list[SettingLine]], content: list[SettingLine]) -> list[str]:
    """The source of the values, and the differences that need an explanation."""
    return [
        "Ours: agent=dqn, rainbow_lite, rainbow, der, with network=nature and optimizer=adam, from conf/; steps "
        f"are agent steps. In brackets: {table.source}, if it differs.",
        "Exploration ε of Rainbow and DER: the code of the paper's agents does not use it, as their layers are noisy "
        "(docs/pages/reference/agents/value.md).",
        "Layers are network=nature's; sticky actions are the benchmark's.",
    ]


def _value(agent: str, group: str, key: str) -> Any:
    """The value of a key in an agent, its network or its optimizer; for the group "defaults", the default option."""
    settings = option("agent", agent)
    if group == "defaults":
        chosen = [entry for entry in option(".", "config")["defaults"] if isinstance(entry, dict)]
        return next(entry[key] for entry in chosen if key in entry)
    if group == "network":
        return option("network", "nature")[key]
    if group == "optimizer":
        return {**option("optimizer", "adam"), **settings["default_settings"]["optimizer"]["adam"]}.get(key, 0)
    return settings[key]


def _setting_cell(own: Any, paper: str | None) -> str:
    if own is None:
        return f"{NOTHING} ({paper})" if paper else NOTHING
    return _words(own) if paper is None or _equal(own, paper) else f"{_words(own)} ({paper})"


def _equal(own: Any, paper: str) -> bool:
    if isinstance(own, bool | str):
        return str(own).lower() == paper.lower()
    return float(own) == float(paper)


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value) if isinstance(value, str) else f"{value:g}"


TABLE_SOFTMOE1 = Table(
    name="softmoe1",
    title="Table 1 of the SoftMoE paper: settings of value agents",
    build=settings_of_agents,
    render=agents_in_words,
    caption=about_agents,
    runs="unused",
    reported=("softmoe_table1.csv",),
    source="Table 1 of Sokar et al. 2025",
)
TABLES = (TABLE_E1, TABLE_SOFTMOE1)
