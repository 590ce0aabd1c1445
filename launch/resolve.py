"""From the words of a command to its runs."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from launch.arguments import Axes, parse
from launch.layers import Nodes, below_the_typed
from launch.options import COMPONENTS, CONF, Option, Options
from launch.published import Published, read_published
from launch.rules import RULES
from launch.runs import Desk, merged, run_of
from launch.settings import Numbers, Settings, nested, numbers, settings
from plasticity_lab.errors import ConfigError

SCIENCE = tuple(Numbers.model_fields)
AUTO = {"network": "default_network", "agent": "default_agent"}
"""Groups with the choice `auto`, and the key of the benchmark's file that says what it means."""


@dataclass(frozen=True)
class Resolved:
    """What a command asks for: its runs (plain dictionaries), what to tell the user once, and how to compute them."""

    runs: list[dict[str, Any]]
    notes: list[str]
    settings: Settings


def resolved(options: Options, preset: Sequence[str], typed: Sequence[str]) -> Resolved:
    """The runs that an experiment's words and the typed words name together; a typed word replaces the experiment's.

    Raises ConfigError in a sentence that names the first thing wrong; nothing has been queued or written then.
    """
    said = _together(parse(preset, options.vocabulary), parse(typed, options.vocabulary))
    choices = {group: said.choices.get(group, [chosen]) for group, chosen in options.chosen.items()}
    science = {key: [options.settings[key]] for key in SCIENCE} | {k: v for k, v in said.values.items() if k in SCIENCE}
    once = {
        key: _only(key, said.values.get(key, [value])) for key, value in options.settings.items() if key not in SCIENCE
    }
    command = settings(nested(once))
    swept = {key: list(values) for key, values in said.values.items() if key.partition(".")[0] in COMPONENTS}
    number_sets = [numbers(dict(zip(science, each, strict=True))) for each in itertools.product(*science.values())]

    desk, notes, runs = Desk(), _Notes(), []
    for names in itertools.product(*choices.values()):
        asked = dict(zip(choices, names, strict=True)) | {"experiment": options.experiment}
        parts, nodes = _combination(options, asked, notes)
        for filled in _filled(nodes, swept):
            checked = {group: desk.part(group, part.name, part.target, filled[group]) for group, part in parts.items()}
            runs += [run_of(checked, each, asked) for each in number_sets]
    return Resolved(merged(runs), [*notes.lines(), *recency(runs)], command)


def recency(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line that says where the runs measure something else than plasticity; none where they do not."""
    benchmarks = [run["science"]["benchmark"] for run in runs]
    names = dict.fromkeys(each["name"] for each in benchmarks if each.get("order") == "class_blocks")
    if not names:
        return []
    return [
        f"benchmark: {', '.join(names)} in class blocks measures recency (how fast a network follows the class shown "
        "last) more than plasticity; benchmark.order=shuffle, which protocol=clean sets, measures plasticity."
    ]


def _together(preset: Axes, typed: Axes) -> Axes:
    return Axes({**preset.choices, **typed.choices}, {**preset.values, **typed.values})


def _only(key: str, values: Sequence[Any]) -> Any:
    if len(values) > 1:
        raise ConfigError(f"{key} changes no run's numbers, so it cannot be swept; give it one value.")
    return values[0]


def _combination(options: Options, asked: Mapping[str, Any], notes: "_Notes") -> tuple[dict[str, Option], Nodes]:
    """The component options of one combination of choices, and their settings below experiment and command line."""
    benchmark = options.option("benchmark", asked["benchmark"])
    parts = {group: _component(options, group, asked[group], benchmark) for group in COMPONENTS}
    rules = {group: options.option(group, asked[group]) for group in RULES}
    table = rules["hyperparams"].extras["look_up"]
    found = _looked_up(table, benchmark, parts["activation"], notes) if table else {}
    return parts, below_the_typed(parts, rules["schedule"], rules["protocol"], found)


def _component(options: Options, group: str, name: str, benchmark: Option) -> Option:
    if group in AUTO and name == "auto":
        name = benchmark.extras.get(AUTO[group]) or ""
        if not name:
            raise ConfigError(f"{group}=auto: benchmark={benchmark.name} has no {AUTO[group]}; name the {group}.")
    option = options.option(group, name)
    if option.target is None:
        raise ConfigError(f"{group}={name} has no _target_; its file must name the class it stands for.")
    return option


def _looked_up(table: str, benchmark: Option, activation: Option, notes: "_Notes") -> Mapping[str, Mapping[str, Any]]:
    """The published settings of an activation on a benchmark, or on its stand-in; none if there are none."""
    published: Published = notes.table(CONF / "published" / table)
    source = published.benchmark_for(benchmark.name, benchmark.extras.get("stand_in"))
    if source is not None and source != benchmark.name:
        notes.stand_ins[benchmark.name] = source
    row = published.rows.get((source or "", activation.name))
    if row is None:
        notes.missing.setdefault(benchmark.name, []).append(activation.name)
    return row or {}


def _filled(nodes: Nodes, swept: Mapping[str, Sequence[Any]]) -> Iterator[Nodes]:
    """The nodes with each combination of the swept values put in."""
    places = [key.split(".", 1) for key in swept]
    for values in itertools.product(*swept.values()):
        filled = {group: dict(settings) for group, settings in nodes.items()}
        for (group, setting), value in zip(places, values, strict=True):
            filled[group][setting] = value
        yield filled


class _Notes:
    """What a look-up found elsewhere or not at all, gathered over all combinations and said in one line each."""

    def __init__(self) -> None:
        self.stand_ins: dict[str, str] = {}
        self.missing: dict[str, list[str]] = {}
        self._tables: dict[Path, Published] = {}

    def table(self, path: Path) -> Published:
        if path not in self._tables:
            self._tables[path] = read_published(path)
        return self._tables[path]

    def lines(self) -> list[str]:
        lines = []
        if self.stand_ins:
            pairs = ", ".join(f"{source} for {name}" for name, source in self.stand_ins.items())
            lines.append(f"hyperparams: published values of a stand-in are used: {pairs}.")
        if self.missing:
            places = "; ".join(f"{', '.join(dict.fromkeys(names))} on {name}" for name, names in self.missing.items())
            lines.append(f"hyperparams: nothing is published for {places}; their defaults are used.")
        return lines
