"""The second paper's Table 1: the settings of its value agents in conf/, next to the printed settings."""

from collections.abc import Sequence
from typing import Any

from analysis.conf import option
from analysis.reported.reported import lines
from analysis.rows import Row
from analysis.tables.listing import NOTHING, Listing
from analysis.tables.table import Table

AGENTS = {"dqn": "DQN", "rainbow_lite": "Rainbow-lite", "rainbow": "Rainbow", "der": "DER"}
"""Agents of conf/agent/; the paper prints no settings of Rainbow-lite."""
Line = dict[str, Any]


def build(table: Table[list[Line]], rows: Sequence[Row], metric_name: str | None) -> list[list[Line]]:
    """One line for each of the paper's settings: our value and the paper's, for every agent."""
    content: list[Line] = []
    for printed in lines(table.reported[0]):
        line: Line = {"table": table.name, "setting": printed["hyper_parameter"]}
        for name in AGENTS:
            line[name] = _value(name, printed["conf_group"], printed["conf_key"]) if printed["conf_key"] else None
            line[f"{name} in the paper"] = printed.get(name) or None
        content.append(line)
    return [content]


def render(table: Table[list[Line]], content: list[Line]) -> Listing:
    """The same lines as words; the paper's value is in brackets if it differs."""
    body = [
        [line["setting"], *(_cell(line[name], line[f"{name} in the paper"]) for name in AGENTS)] for line in content
    ]
    return Listing(table.name, table.title, ["setting", *AGENTS.values()], body, content)


def caption(table: Table[list[Line]], content: list[Line]) -> list[str]:
    """The source of the values, and the differences that need an explanation."""
    return [
        "Ours: agent=dqn, rainbow_lite, rainbow, der, with network=nature and optimizer=adam, from conf/; steps "
        f"are agent steps. In brackets: {table.source}, if it differs.",
        "Exploration ε of Rainbow and DER: the code of the paper's agents does not use it, as their layers are noisy "
        "(docs/agents/value.md).",
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


def _cell(own: Any, paper: str | None) -> str:
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
    build=build,
    render=render,
    caption=caption,
    runs="unused",
    reported=("softmoe_table1.csv",),
    source="Table 1 of Sokar et al. 2025",
)

TABLES = (TABLE_SOFTMOE1,)
