"""Display names, as the paper prints them; the names of data sets in captions; and the metrics of summaries.

names.json holds the names.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from plasticity_lab.records.measures import Declared, Measure
from plasticity_lab.records.task_matrix import READ_OFF

_NAMES: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("names.json").read_text(encoding="utf-8"))
ACTIVATIONS, BENCHMARKS, INTERVENTIONS, DATA, BODIES = (
    _NAMES[kind] for kind in ("activation", "benchmark", "intervention", "data", "body")
)
"""Name in conf/ → display name, in the papers' order. For `DATA`, the name is a source of images."""
NAMES = {"activation": ACTIVATIONS, "benchmark": BENCHMARKS, "intervention": INTERVENTIONS}
"""Group of choices → the display names of its options, for the groups that have some."""


def display(names: dict[str, str], name: str) -> str:
    """The display name; the name itself for an option from outside this repository."""
    return names.get(name, name)


def metric(name: str, declared: Iterable[Declared]) -> Measure:
    """The metric of that name (title, unit, better direction), from the first declaration that has it.

    A summary value without a description is shown as stored, and no table marks its best value.
    """
    described = (each.summaries[name] for each in declared if name in each.summaries)
    return next(described, None) or READ_OFF.get(name) or Measure(name, name, "as stored")
