"""The launchers of hydra-submitit-launcher behind our sweeper: a job for each run, which trains it alone."""

import pytest

from plasticity_lab.records.store import Store
from tests.helpers.sweeps import all_kept, ended_packs, runs_of, said, trained

WORDS = ("activation=relu,tanh", "benchmark.tasks=1")


@pytest.fixture(params=["submitit_local", pytest.param("submitit_slurm", marks=pytest.mark.slurm)])
def launcher(request):
    if request.param == "submitit_slurm":
        request.getfixturevalue("slurm")
    return request.param


@pytest.mark.slow
def test_each_run_is_a_job_and_comes_to_the_packed_numbers(launcher, store, tmp_path):
    status, err = said(store, f"hydra/launcher={launcher}", f"hydra.sweep.dir={tmp_path}/sweep", *WORDS)
    assert status == 0, err
    runs = runs_of(*WORDS)
    assert sorted(pack["runs"] for pack in ended_packs(store)) == sorted([run.id] for run in runs)
    assert len(list(store.root.glob("sweeps/*/plan.json"))) == 1, "one sweep, and not one for each run"
    assert err.count(launcher) == 1
    together = Store(tmp_path / "together")
    trained(together, *WORDS)
    assert all_kept(store, runs) == all_kept(together, runs)


@pytest.mark.slow
def test_a_run_that_fails_in_its_job_is_told_by_the_command(launcher, store, tmp_path):
    missing = ("benchmark=permuted_mnist", f"data={tmp_path}/nothing")
    status, err = said(store, f"hydra/launcher={launcher}", f"hydra.sweep.dir={tmp_path}/sweep", *missing)
    assert status == 1
    assert "nothing" in err.splitlines()[-1]
