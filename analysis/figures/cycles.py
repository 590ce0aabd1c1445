"""Runs in which bodies come in turn, cycle after cycle, as Figures 6 and F1 take them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.figures.asked import Asked
from analysis.names import ACTIVATIONS, BENCHMARKS, BODIES, display
from analysis.rows import Row
from analysis.tables.arms import arms_of, flags_of, selections
from analysis.tables.caption import data_line
from analysis.tables.made_by import made_lines, mixed
from analysis.tables.stages import cycle_returns, stages_of
from plasticity_lab.errors import ConfigError


@dataclass(frozen=True)
class Arm:
    """Finished runs of one activation at one setting.

    returns: in training and in tests, (C cycles, 2, N runs, M bodies); a test that was not made is NaN.
    """

    label: str
    activation: str
    runs: Sequence[str]
    returns: np.ndarray


@dataclass(frozen=True)
class Cycled:
    """The arms of one selection of runs. bodies: in the order in which they come. rows: of all its runs."""

    title: str
    bodies: Sequence[str]
    arms: Sequence[Arm]
    rows: Sequence[Row]

    @property
    def caption(self) -> list[str]:
        """What must be said of them: their data, which are not shown, and what computed them."""
        whole = {run for arm in self.arms for run in arm.runs}
        absent = Counter("not finished" if row.status in ("waiting", "running", "done") else row.status
                         for row in self.rows if row.run not in whole)  # fmt: skip
        shown = [row for row in self.rows if row.run in whole]
        mixes = {arm.label: mixed([row for row in shown if row.run in arm.runs]) for arm in self.arms}
        lines = [f"{self.title}: {data_line(self.rows)}."]
        if absent:
            lines.append(f"Not shown: runs {', '.join(f'{many} {what}' for what, many in absent.items())}.")
        if flags := flags_of(shown):
            lines.append(f"Of the runs that are shown: {', '.join(f'{many} {what}' for what, many in flags.items())}.")
        return [*lines, *made_lines(shown, mixes)]


def cycled(asked: Asked) -> list[Cycled]:
    """One for each selection of runs whose benchmark has bodies.  Raises ConfigError where no such run has finished."""
    rows = {row.run: row for row in asked.rows if len(_bodies(row)) > 1}
    stages = stages_of(asked.metrics, [run for run, row in rows.items() if row.status == "done"]) if rows else {}
    found = []
    for benchmark in dict.fromkeys(row.benchmark for row in rows.values()):
        for selection, alike in selections([row for row in rows.values() if row.benchmark == benchmark]):
            bodies, arms = _bodies(alike[0]), []
            for label, runs in arms_of(alike).items():
                returns = {row.run: cycle_returns(row, stages.get(row.run, ()), bodies) for row in runs}
                whole = {run: each for run, each in returns.items() if each is not None}
                if whole:
                    name = runs[0].activation
                    shown = label.replace(name, display(ACTIVATIONS, name), 1)
                    arms.append(Arm(shown, name, list(whole), np.stack(list(whole.values()), axis=2)))
            if arms:
                title = _title(benchmark, selection)
                found.append(Cycled(title, bodies, arms, alike))
    if not found:
        raise ConfigError("No run has finished a cycle of bodies, as benchmark=mujoco_cycle has it.")
    return found


def body_name(name: str) -> str:
    """As Gymnasium and the paper call it, without the version."""
    return display(BODIES, name).partition("-")[0]


def _bodies(row: Row) -> list[str]:
    """Each body once, in their order."""
    named = row.study.get("benchmark.bodies")
    return list(dict.fromkeys(named)) if isinstance(named, Sequence) and not isinstance(named, str) else []


def _title(benchmark: str, selection: Mapping[str, str]) -> str:
    chosen = [name for choice, name in selection.items() if (choice, name) != ("intervention", "none")]
    return f"{display(BENCHMARKS, benchmark)} ({', '.join(chosen)})"
