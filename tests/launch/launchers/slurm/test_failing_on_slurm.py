"""Failing runs on a real Slurm: one that raises, a pack that lacks memory, one whose workers are killed each time."""

import pytest

from launch.__main__ import main
from plasticity_lab.records.record import read_record
from tests.helpers.failing_activations import AT_FAULT, planted
from tests.helpers.slurm_jobs import ended, jobs_of, log_of, submitted
from tests.helpers.sweeps import all_kept, ended_packs, runs_of

pytestmark = [pytest.mark.slurm, pytest.mark.slow]
ONE_WORKER = ("launch.workers=1", "hydra.launcher.partition=cpu", "launch.lease_seconds=30")
MATES = "activation.negative_slope=0.01,0.02,0.03"


@pytest.fixture
def path(tmp_path):
    return planted(tmp_path)


def resumed(store):
    """`resume`, and the end of the job that it starts."""
    assert main(["resume", "--store", str(store.root)]) == 0
    return ended(jobs_of(store)[-1])


def test_a_failing_run_makes_its_job_fail_and_harms_no_other(slurm, store, path, undisturbed, capsys):
    words = (path, "activation=broken")
    job = submitted(store, *words, f"{MATES},{AT_FAULT}", *ONE_WORKER, "launch.retries=1")
    assert ended(job) == "FAILED", log_of(store)
    assert all_kept(store, runs_of(*words, MATES)) == undisturbed(*words, MATES)
    (guilty,) = runs_of(*words, f"activation.negative_slope={AT_FAULT}")
    for often in (1, 2):
        record = read_record(store, guilty.id)
        assert (record["status"], record["provenance"]["failures"]) == ("failed", often)
        if often == 1:
            assert resumed(store) == "FAILED"
    assert main(["resume", "--store", str(store.root)]) == 1
    assert "1 run failed 2 times and will not be tried again" in capsys.readouterr().err


def test_a_pack_out_of_memory_is_trained_in_halves(slurm, store, path):
    words = (path, "activation=hungry", "seed=range(5)")
    job = submitted(store, *words, *ONE_WORKER)
    assert ended(job) == "COMPLETED", log_of(store)
    assert sorted(len(pack["runs"]) for pack in ended_packs(store) if pack["status"] == "done") == [1, 2, 2]
    assert len(all_kept(store, runs_of(*words))) == 5


def test_a_run_whose_workers_are_killed_each_time_fails_in_the_end(slurm, store, path, undisturbed):
    words = (path, "activation=killed")
    job = submitted(store, *words, f"{MATES},{AT_FAULT}", *ONE_WORKER, "checkpoint_minutes=60")
    assert ended(job) == "FAILED", log_of(store)
    (guilty,) = runs_of(*words, f"activation.negative_slope={AT_FAULT}")
    for _ in range(15):  # two workers for packs of 4 and of 2, ten for it alone, and one that says so
        resumed(store)
        record = read_record(store, guilty.id)
        if record is not None:
            break
    assert record["status"] == "failed"
    assert "10 workers in turn have vanished" in record["error"]
    assert all_kept(store, runs_of(*words, MATES)) == undisturbed(*words, MATES)
