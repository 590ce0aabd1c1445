"""The cost of records and checkpoints: a whole pack trained with and without them.

Imported only if this is measured: records need pyarrow.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from launch.packs.leases import Leases
from launch.packs.owner import this_owner
from launch.plan.timing import Contender
from launch.work.training import Session, train_pack
from plasticity_lab.agents.agent import Chunk, Learner, Task
from plasticity_lab.agents.supervised.workload import Workload
from plasticity_lab.records.identity import pack_id, run_id
from plasticity_lab.records.plan import Pack, Plan
from plasticity_lab.records.rows import Evaluation, Position, Rows
from plasticity_lab.records.settings import LaunchSettings, Settings, TrackingSettings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run
from plasticity_lab.trainer import train

TASKS = 2
EVALUATED = 100
SELDOM, ALWAYS = 1e9, 1e-9
"""Minutes between checkpoints: never in a burst, and after every chunk and task."""
CHECKPOINTS = 2 * TASKS


class Forgetful:
    """A journal and keeper that knows the pack's position, and nothing more."""

    def __init__(self) -> None:
        self.position = Position(0, 0)

    def add_chunk(self, chunk: Chunk, rows: Rows) -> None:
        """Moves to the chunk's end."""
        self.position = Position(chunk.task, self.position.step + chunk.steps)

    def add_task(self, task: Task, evaluation: Evaluation) -> None:
        """Moves to the next task."""
        self.position = Position(task.position + 1, 0)

    def look(self, learner: Learner, journal: object) -> None:
        """Does nothing."""

    def task_ends(self, learner: Learner, task: object) -> None:
        """Does nothing."""


def contenders(workload: Workload, width: int, device: str) -> list[Contender]:
    """The trainer alone; the same with records; the same with a checkpoint after every chunk and task as well.

    Each burst trains another eager pack from its start to its end.
    """
    runs = workload.runs(width, TASKS, EVALUATED)
    facts = {"network": workload.network, "activation": workload.activation, "mode": "eager", "width": width}
    run_steps = TASKS * workload.burst * width
    ways: dict[str, Callable[[], None]] = {
        "trainer alone": partial(_bare, workload, runs, device),
        "with records": partial(_recorded, workload, runs, device, SELDOM),
        f"with records, {CHECKPOINTS} checkpoints": partial(_recorded, workload, runs, device, ALWAYS),
    }
    counted = facts | {"checkpoints": CHECKPOINTS}
    return [Contender(name, counted, run_steps, burst) for name, burst in ways.items()]


def _bare(workload: Workload, runs: Sequence[Run], device: str) -> None:
    stream, learner = workload.assembled(runs, torch.device(device), compiled=False)
    forgetful = Forgetful()
    train(stream, learner, forgetful, forgetful)


def _recorded(workload: Workload, runs: Sequence[Run], device: str, minutes: float) -> None:
    """Trains the pack as a worker does, with a checkpoint every `minutes` minutes."""
    named = [replace(run, id=run_id(run.science)) for run in runs]
    ids = tuple(run.id for run in named)
    steps = TASKS * workload.burst
    pack = Pack(pack_id(ids, 0), 0, ids, "bench", device, "eager", steps, "steps", steps, bytes=0, seconds=0.0)
    with tempfile.TemporaryDirectory(prefix="plasticity-bench-") as folder:
        settings = Settings(
            store=Path(folder), data=None, device="auto", mode="eager", dry_run=False, rerun=False, save_weights="none",
            checkpoint_minutes=minutes, launch=LaunchSettings(workers=None, wait=False, lease_seconds=120.0),
            tracking=TrackingSettings(backend="store", project="", entity=None, live_runs=0),
        )  # fmt: skip
        store = Store(folder)
        store.prepare()
        plan = Plan("bench", [], ids, {run.id: run for run in named}, [pack], settings)
        lease = Leases(store, settings.launch.lease_seconds, this_owner()).claim([pack.id])
        assert lease is not None
        train_pack(Session(store, plan, pack, workload.image_set, device, lease, lambda: False))
