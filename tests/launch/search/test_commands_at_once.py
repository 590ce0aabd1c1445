"""Searches as real commands: two at once, one of them killed, a worker of the other too."""

import os
import signal

import pytest

from plasticity_lab.records.store import Store
from tests.helpers.searches import begun, check_undisturbed
from tests.helpers.sweeps import PATIENCE, command, said, wait_until, workers_of

WORDS = (
    "activation=leaky_relu", "hyperparams=search", "optimizer.lr=tag(log,interval(1e-4,1e-1))",
    "activation.negative_slope=choice(0.1,0.3,0.5)", "seed=0,1", "hyperparams.trials=12", "hyperparams.batch=5",
    "launch.workers=1", "benchmark.tasks=6",
)  # fmt: skip
"""Ten trials are drawn at random; the last two follow from what these have come to."""


@pytest.mark.slow
def test_two_commands_at_once_of_which_one_is_killed_make_the_search_of_one(store, tmp_path):
    both = Store(tmp_path / "both")
    status, err = said(store, *WORDS)
    assert status == 0, err
    with command(both, *WORDS) as first, command(both, *WORDS) as second:
        assert wait_until(lambda: begun(both, 1), first)
        wait_until(lambda: bool(workers_of(second.pid)) or begun(both, 2), second)
        first.kill()
        for lost in [*workers_of(first.pid), *workers_of(second.pid)]:
            os.kill(lost, signal.SIGKILL)
        err = second.communicate(timeout=PATIENCE)[1]
    if second.returncode:
        status, err = said(both, *WORDS)
        assert status == 0, err
    check_undisturbed(both, alone=store)
