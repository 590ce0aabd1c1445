"""Searches as real commands: two at once, one of them killed, a worker of the other too."""

import os
import signal

import pytest

from plasticity_lab.records.searches.batches import batches_of
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import PATIENCE, command, kept, said, wait_until, workers_of

WORDS = (
    "activation=leaky_relu", "hyperparams=search", "optimizer.lr=tag(log,interval(1e-4,1e-1))",
    "activation.negative_slope=choice(0.1,0.3,0.5)", "seed=0,1", "hyperparams.trials=10", "hyperparams.batch=2",
    "launch.workers=1", "benchmark.tasks=6",
)  # fmt: skip


def search_in(store: Store) -> list[str]:
    folder = store.root / "searches"
    return os.listdir(folder) if folder.exists() else []


@pytest.mark.slow
def test_two_commands_at_once_of_which_one_is_killed_make_the_search_of_one(store, tmp_path):
    both = Store(tmp_path / "both")

    def begun(number):
        return any(both.batch(search, number).exists() for search in search_in(both))

    status, err = said(store, *WORDS)
    assert status == 0, err
    with command(both, *WORDS) as first, command(both, *WORDS) as second:
        assert wait_until(lambda: begun(1), first)
        wait_until(lambda: bool(workers_of(second.pid)) or begun(2), second)
        first.kill()
        for lost in [*workers_of(first.pid), *workers_of(second.pid)]:
            os.kill(lost, signal.SIGKILL)
        err = second.communicate(timeout=PATIENCE)[1]
    if second.returncode:
        status, err = said(both, *WORDS)
        assert status == 0, err
    (search,) = search_in(store)
    assert search_in(both) == [search]
    batches = batches_of(store, search)
    assert batches_of(both, search) == batches
    runs = [run for batch in batches for trial in batch.trials for run in trial.runs]
    assert len(runs) == len(set(runs)) == 20
    assert len(os.listdir(both.root / "runs")) == len(os.listdir(store.root / "runs"))
    assert kept_of(both, runs) == kept_of(store, runs)


def kept_of(store, runs):
    return {run: kept(store, run) for run in runs}
