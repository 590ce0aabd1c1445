"""A sweep on a real Slurm that is disturbed all the time, for a minute or so; `make chaos` does so for an hour."""

import pytest

from tests.launch.slurm.acts import DECK
from tests.launch.slurm.chaos import Chaos, run

pytestmark = [pytest.mark.slurm, pytest.mark.slow]


def test_in_chaos_no_run_is_lost_repeated_or_different(slurm, tmp_path):
    report = run(tmp_path, Chaos(minutes=1.25, every=4, tasks=6, workers=16, limit=2, seed=0))
    assert (report["lost"], report["repeated"], report["different"]) == ({}, {}, {})
    assert report["runs"] >= 40
    assert report["acts"].keys() == set(DECK)
    assert report["time_limits"]
    assert report["left_behind"] == []
