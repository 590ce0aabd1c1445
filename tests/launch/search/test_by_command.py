"""A search by its command: interrupted while it trains, again and again, and gone on with by this code or by other."""

import pytest

from launch.command import run_command
from launch.launchers import local
from plasticity_lab.records import training_code
from plasticity_lab.records.lookup import recorded_runs
from plasticity_lab.records.record import read_record
from plasticity_lab.records.record_facts import flags_of
from plasticity_lab.records.store import Store
from tests.helpers.searches import check_undisturbed
from tests.helpers.sweeps import SMOKE, after_looks, never, said_last, work

WORDS = (
    "hyperparams=search", "optimizer.lr=tag(log,interval(1e-4,1e-1))", "activation=leaky_relu", "seed=0",
    "activation.negative_slope=choice(0.1,0.3,0.5)", "hyperparams.trials=12", "hyperparams.batch=5",
    "benchmark.tasks=6", "launch.workers=1",
)  # fmt: skip
INTERRUPTED = 130
LOOKS = 6
"""After how many looks a worker sees that it is to stop: in the middle of the first pack."""


@pytest.fixture
def given(monkeypatch):
    """Gives the command. Its one worker trains in this process until `stop` is true. Returns the exit status."""

    def give(store, stop):
        def train(store, plan, *_):
            work(store, plan.sweep, "cpu", stop)
            if stop():
                raise KeyboardInterrupt
            return []

        monkeypatch.setattr(local, "run_workers", train)
        return run_command(said_last(*SMOKE, *WORDS, f"store={store.root}"))

    return give


@pytest.mark.slow
def test_an_interrupted_search_gone_on_with_by_other_code_is_the_search_of_one_command(
    store, tmp_path, monkeypatch, capsys, given
):
    alone = Store(tmp_path / "alone")
    assert given(alone, never) == 0
    interrupted, said = 0, []
    while (status := given(store, after_looks(LOOKS))) == INTERRUPTED:
        interrupted += 1
        said.append("begun by other code" in capsys.readouterr().err)
        if interrupted >= 2:  # it goes on by the same code the first time
            monkeypatch.setattr(training_code, "code_digest", f"code {interrupted}".strip)
    assert status == 0
    assert said[:2] == [False, False]
    assert any(said[2:])
    check_undisturbed(store, alone)
    assert any("mixed_code" in flags_of(read_record(store, run)) for run in recorded_runs(store))
