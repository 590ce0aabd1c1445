"""What an agent of another kind measures: episodes, and no accuracy. It stands for those that are still to come."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from plasticity_lab.component import Component
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.measures import Column, Measure, Measures
from plasticity_lab.records.rows import Episodes, Rows

ITS_CLASS = "tests.helpers.made_up_agent.Player"


def summarise(table: pa.Table) -> dict[str, float | None]:
    """mean_return: of all episodes. regret: of the last task."""
    rows = {kind: table.filter(pc.equal(table["kind"], kind)) for kind in ("episode", "task")}
    regrets = rows["task"]["regret"].to_pylist()
    return {"mean_return": pc.mean(rows["episode"]["return"]).as_py(), "regret": regrets[-1] if regrets else None}


PLAYER = Measures(
    columns=(
        Column(Measure("return", "Return", "points", places=1, better="more"), "score", {"episode": "value"}),
        Column(Measure("length", "Length", "steps", places=0), "length", {"episode": "value"}),
        Column(Measure("entropy", "Entropy", "nats"), "entropy", {"epoch": "mean", "task": "mean"}),
        Column(Measure("regret", "Regret", "points", better="less"), "regret", {"task": "value"}),
    ),
    summaries=(
        Measure("mean_return", "Mean return", "points", places=1, better="more"),
        Measure("regret", "Regret of the last task", "points", places=1, better="less"),
    ),
    headline="mean_return",
    must_stay_finite="loss",
    summarise=summarise,
    marks={"body": int},
    flags=lambda table, facts: {"stuck": facts["bodies"] > 1},
)


class Player(Component):
    """It has no settings, and nothing trains it."""

    measures = PLAYER


@dataclass(frozen=True)
class Chunk:
    """A rollout."""

    task: int
    epoch: int
    steps: int
    ends_epoch: bool
    marks: dict = field(default_factory=lambda: {"body": 7})


@dataclass(frozen=True)
class Task:
    """Two epochs of two rollouts."""

    position: int
    marks: dict = field(default_factory=lambda: {"body": 7})


STEPS, UPDATES = 50, 3
CHUNKS = [(task, 2 * task + half, quarter) for task in range(2) for half in range(2) for quarter in range(2)]
_RNG = np.random.Generator(np.random.Philox(key=11))
_LENGTHS = [_RNG.integers(3, 30, 300) for _ in range(4)]
_NUMBERS = _RNG.random((len(CHUNKS), UPDATES, 4))


def rollouts(runs: list[int], look=lambda journal: None, journal: Journal | None = None) -> Journal:
    """Some of four runs, from where the journal stands; run 1 diverges in its sixth rollout of eight.

    look: called with the journal after each rollout.
    """
    journal = journal or Journal(len(runs), PLAYER)
    for at, (task, epoch, quarter) in enumerate(CHUNKS):
        if at * STEPS >= journal.steps:
            loss = _NUMBERS[at][:, runs].copy()
            loss[1:, [k for k, run in enumerate(runs) if run == 1 and at == 5]] = np.nan
            updates = {"loss": loss, "entropy": _NUMBERS[at][:, runs]}
            journal.add_chunk(Chunk(task, epoch, STEPS, quarter == 1), Rows(updates, _ended(runs, at)))
            look(journal)
        if at % 4 == 3 and journal.position.task == task:
            journal.add_task(Task(task), {"regret": np.array([10.0 * run + task for run in runs])})
    return journal


def _ended(runs: list[int], at: int) -> Episodes:
    """The episodes that end in a rollout, run after run; each run has its own number of them."""
    own = [np.cumsum(_LENGTHS[run]) for run in runs]
    own = [ends[(ends > at * STEPS) & (ends <= (at + 1) * STEPS)] for ends in own]
    run = np.repeat(np.arange(len(runs)), list(map(len, own)))
    step = np.concatenate(own)
    return Episodes(run, step, {"score": step * 0.5, "length": step % 30 * 1.0})
