"""A search on a real Slurm: two commands go on with it, and a worker, a command and all jobs of a batch are lost."""

import pytest

from launch.__main__ import main
from launch.launchers.display import Watch
from launch.packs.submissions import submissions_of
from plasticity_lab.records.identity import sweep_id
from plasticity_lab.records.plan import read_plan
from plasticity_lab.records.searches.batches import batches_of
from plasticity_lab.records.searches.studies import searches_of
from plasticity_lab.records.store import Store
from tests.helpers.searches import begun, check_undisturbed
from tests.helpers.slurm_jobs import log_of, order
from tests.helpers.sweeps import PATIENCE, command, said, wait_until

pytestmark = [pytest.mark.slurm, pytest.mark.slow]
WORDS = (
    "activation=leaky_relu", "hyperparams=search", "optimizer.lr=tag(log,interval(1e-4,1e-1))",
    "activation.negative_slope=choice(0.1,0.3,0.5)", "seed=0,1", "hyperparams.trials=12", "hyperparams.batch=5",
    "benchmark.tasks=40", "checkpoint_minutes=0.02",
)  # fmt: skip
"""Ten trials are drawn at random; the last two follow from what these have come to."""
ON_SLURM = (
    *WORDS, "launch.workers=2", "hydra/launcher=packed_slurm", "hydra.launcher.partition=cpu", "launch.wait=true",
)  # fmt: skip


def test_a_search_that_loses_a_worker_a_command_and_its_jobs_is_that_of_one_command(slurm, store, tmp_path):
    with command(store, *ON_SLURM) as first, command(store, *ON_SLURM) as second:
        (job,) = {each.job for each in submissions_of(store, under_way(store, 0), []) if each.job}
        order("scancel", "--signal=KILL", f"{job}_0")
        sweep = under_way(store, 1)
        first.kill()
        assert main(["cancel", sweep, "--store", str(store.root)]) == 0
        assert second.wait(timeout=PATIENCE) == 1, second.communicate()[1]
    assert not begun(store, 2)
    status, err = said(store, *ON_SLURM)
    assert status == 0, f"{err}\n{log_of(store)}"
    alone = Store(tmp_path / "alone")
    status, err = said(alone, *WORDS, "launch.workers=1")
    assert status == 0, err
    check_undisturbed(store, alone)


def under_way(store, number):
    """Waits until runs of a batch are trained; the sweep that the batch is."""
    wait_until(lambda: begun(store, number))
    (search,) = searches_of(store)
    sweep = sweep_id(run for trial in batches_of(store, search)[number].trials for run in trial.runs)
    wait_until(lambda: store.plan(sweep).exists())
    watch = Watch(store, read_plan(store, sweep).packs)
    wait_until(lambda: watch.look().run_steps_done > 0, explained=lambda: log_of(store))
    assert not watch.over, "it was trained before it could be disturbed"
    return sweep
