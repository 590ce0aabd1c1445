"""The second paper's Table 1: the settings of its value agents, as conf/ has them, beside what the paper prints."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analysis.conf import option
from analysis.reported.reported import lines
from analysis.rows import Row
from analysis.tables.listing import NOTHING, Listing
from analysis.tables.table import Table

AGENTS = {"dqn": "DQN", "rainbow_lite": "Rainbow-lite", "rainbow": "Rainbow", "der": "DER"}
"""In conf/agent/; the paper prints nothing of Rainbow-lite."""
Read = Callable[[Mapping[str, Any]], Any]


def _of_agent(name: str) -> Read:
    return lambda agent: agent[name]


def _of_adam(name: str) -> Read:
    return lambda agent: {**option("optimizer", "adam"), **agent["default_settings"]["optimizer"]["adam"]}.get(name, 0)


def _of_nature(name: str) -> Read:
    return lambda agent: option("network", "nature")[name]


def _default(group: str) -> Read:
    chosen = next(each[group] for each in option(".", "config")["defaults"] if isinstance(each, dict) and group in each)
    return lambda agent: chosen


READ: Mapping[str, Read] = {
    "Adam's ε": _of_adam("epsilon"),
    "Adam's learning rate": _of_adam("lr"),
    "Batch size": _of_agent("batch"),
    "Conv. activation function": _default("activation"),
    "Convolutional width": _of_nature("width"),
    "Dense activation function": _default("activation"),
    "Dense width": _of_nature("hidden"),
    "Normalization": _of_nature("norm"),
    "Discount factor": _of_agent("gamma"),
    "Exploration ε": _of_agent("epsilon_final"),
    "Exploration ε decay": _of_agent("epsilon_decay"),
    "Minimum replay history": _of_agent("min_history"),
    "Number of atoms": _of_agent("atoms"),
    "Replay capacity": _of_agent("capacity"),
    "Reward clipping": _of_agent("clip_rewards"),
    "Update horizon": _of_agent("n_step"),
    "Update period": _of_agent("update_period"),
    "Weight decay": _of_adam("weight_decay"),
}
"""The paper's words → what conf/ has; what is not here belongs to a network's shape, or to a benchmark."""
Line = dict[str, Any]


def build(table: Table[list[Line]], rows: Sequence[Row], metric_name: str | None) -> list[list[Line]]:
    """A line for each of the paper's settings: ours of every agent, and the paper's where it differs."""
    found: list[Line] = []
    for printed in lines(table.reported[0]):
        setting = printed["hyper_parameter"]
        line: Line = {"table": table.name, "setting": setting}
        for name in AGENTS:
            own = READ[setting](option("agent", name)) if setting in READ else None
            line |= {name: own, f"{name} in the paper": printed.get(name) or None}
        found.append(line)
    return [found]


def render(table: Table[list[Line]], found: list[Line]) -> Listing:
    """The same as words; what the paper prints stands in brackets where it is another value."""
    body = [[line["setting"], *(_cell(line[name], line[f"{name} in the paper"]) for name in AGENTS)] for line in found]
    return Listing(table.name, table.title, ["setting", *AGENTS.values()], body, found)


def caption(table: Table[list[Line]], found: list[Line]) -> list[str]:
    """Where the values stand, and what differs."""
    return [
        "Ours: agent=dqn, rainbow_lite, rainbow, der, with network=nature and optimizer=adam, as conf/ has them; steps "
        f"are agent steps. In brackets: {table.source}, where it says something else.",
        "Exploration ε of Rainbow and DER: the code of the paper's agents does not use it, as their layers are noisy "
        "(docs/agents/value.md).",
        "Layers are network=nature's; sticky actions are the benchmark's.",
    ]


def _cell(own: Any, paper: str | None) -> str:
    if own is None:
        return f"{NOTHING} ({paper})" if paper else NOTHING
    return _words(own) if paper is None or _alike(own, paper) else f"{_words(own)} ({paper})"


def _alike(own: Any, paper: str) -> bool:
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
