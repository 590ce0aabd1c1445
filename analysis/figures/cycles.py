"""Runs with cycles of bodies, for Figures 6 and F1: bodies are trained in turn, cycle after cycle."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.figures.drawing import Asked
from analysis.names import ACTIVATIONS, BENCHMARKS, BODIES, display
from analysis.rows import Row
from analysis.tables.caption import data_line
from analysis.tables.made_by import made_lines, mixed
from analysis.tables.result import chosen_words
from analysis.tables.scores import arms_of, flags_of, selections
from analysis.tables.table import cycle_returns, with_stages, without_episode
from plasticity_lab.errors import ConfigError


@dataclass(frozen=True)
class Arm:
    """Finished runs of one activation at one setting.

    returns: training and test returns, (C cycles, 2, N runs, M bodies); NaN if no test was made.
    """

    label: str
    activation: str
    runs: Sequence[str]
    returns: np.ndarray


@dataclass(frozen=True)
class Cycled:
    """The arms of one selection of runs.  bodies: in training order. rows: one for each run of the selection."""

    title: str
    bodies: Sequence[str]
    arms: Sequence[Arm]
    rows: Sequence[Row]

    @property
    def caption(self) -> list[str]:
        """The caption's sentences: the data of the runs, runs that are not shown, and the code that computed them."""
        whole = {run for arm in self.arms for run in arm.runs}
        absent = Counter(_why_not(row) for row in self.rows if row.run not in whole)
        shown = [row for row in self.rows if row.run in whole]
        mixes = {arm.label: mixed([row for row in shown if row.run in arm.runs]) for arm in self.arms}
        lines = [f"{self.title}: {data_line(self.rows)}."]
        if absent:
            words = ", ".join(f"{many} {what}" for what, many in absent.items())
            lines.append(f"Not shown, of {len(self.rows)} runs: {words}.")
        if flags := flags_of(shown):
            lines.append(f"The runs shown include: {', '.join(f'{many} {what}' for what, many in flags.items())}.")
        return [*lines, *made_lines(shown, mixes)]


def cycled(asked: Asked) -> list[Cycled]:
    """One result for each selection of runs with bodies.  Raises ConfigError if no such run has finished."""
    rows = {row.run: row for row in asked.rows if len(_bodies(row)) > 1}
    rows = {row.run: row for row in with_stages(list(rows.values()), asked.metrics)}
    found = []
    for benchmark in dict.fromkeys(row.benchmark for row in rows.values()):
        for selection, alike in selections([row for row in rows.values() if row.benchmark == benchmark]):
            bodies, arms = _bodies(alike[0]), []
            for label, runs in arms_of(alike).items():
                returns = {row.run: _returns(row, bodies) for row in runs}
                whole = {run: each for run, each in returns.items() if each is not None}
                if whole:
                    name = runs[0].activation
                    shown = label.replace(name, display(ACTIVATIONS, name), 1)
                    arms.append(Arm(shown, name, list(whole), np.stack(list(whole.values()), axis=2)))
            if arms:
                title = f"{display(BENCHMARKS, benchmark)}{chosen_words(selection)}"
                found.append(Cycled(title, bodies, arms, alike))
    if not found:
        raise ConfigError(_nothing(list(rows.values())))
    return found


def _why_not(row: Row) -> str:
    """Why a run is not shown."""
    if row.status != "done":
        return "not finished" if row.status == "waiting" else row.status
    if row.stages is None:
        return "without stored returns by task"
    return "with a task without an ended episode" if without_episode(row) else "that lack a task"


def _nothing(rows: Sequence[Row]) -> str:
    """Why nothing is shown."""
    if not rows:
        return "No run has several bodies in turn, such as a run of benchmark=mujoco_cycle."
    why = ", ".join(f"{many} {what}" for what, many in Counter(map(_why_not, rows)).items())
    return f"No run has a return with each of its bodies: of {len(rows)} runs {why}."


def _returns(row: Row, bodies: Sequence[str]) -> np.ndarray | None:
    """As `cycle_returns`; also None if no episode ended in some task, so the task has no training return."""
    returns = cycle_returns(row, bodies)
    return None if returns is None or np.isnan(returns[:, 0]).any() else returns


def body_name(name: str) -> str:
    """The name in Gymnasium and in the paper, without the version."""
    return display(BODIES, name).partition("-")[0]


def _bodies(row: Row) -> list[str]:
    """Each body once, in their order."""
    named = row.study.get("benchmark.bodies")
    return list(dict.fromkeys(named)) if isinstance(named, Sequence) and not isinstance(named, str) else []
