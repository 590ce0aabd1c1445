"""Which jobs of a real Slurm's a sweep takes for its own, beside others that resemble them."""

import shutil

import pytest

from launch.__main__ import main
from plasticity_lab.records.plan import sweeps_of
from plasticity_lab.records.store import Store
from tests.helpers.slurm_jobs import LONG, field, jobs_of, order, submitted

pytestmark = [pytest.mark.slurm, pytest.mark.slow]
HELD = ("+hydra.launcher.additional_parameters.hold=true", "hydra.launcher.comment=ours", "launch.workers=1", *LONG)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "unser störe")


def test_jobs_that_resemble_workers_are_neither_counted_nor_touched(slurm, store, tmp_path, capsys):
    job = submitted(store, *HELD)
    (sweep,) = sweeps_of(store)
    mark = order("squeue", "--noheader", f"--jobs={job}", "--format=%k").strip()
    assert mark.startswith(f"ours plasticity_lab {sweep} "), mark
    script, beside = tmp_path / "analyse.sh", store.sweep_folder(sweep) / "jobs" / "analyse.sh"
    for path in (script, beside):
        path.write_text("#!/bin/bash\nsleep 600\n")

    def foreign(*words):
        common = ("--parsable", "--hold", "--output=/dev/null", "--job-name=plasticity_lab")
        return order("sbatch", *common, *words).strip()

    others = [
        foreign(str(script), str(store.plan(sweep))),
        foreign(str(beside)),
        foreign(f"--chdir={store.sweep_folder(sweep)}", "--array=0-2", str(script)),
        foreign(f"--comment=see {store.sweep_folder(sweep)}/", str(script)),
        foreign(f"--comment={mark}", str(script), str(store.plan(sweep))),
        foreign(f"--comment={mark} and more", str(beside)),
        foreign(f"--comment=two\n{job}|{job}|PENDING|lines|", str(script), "a|b\nc"),
    ]

    def gives(command, *words, of=store):
        status = main([command, *words, "--store", str(of.root)])
        said = capsys.readouterr()
        held = {other: field(other, "Reason") for other in others}
        assert held == dict.fromkeys(others, "JobHeldUser"), command
        return status, said.out + said.err

    assert "no job runs; 1 waits until it is released" in gives("status")[1]
    copy = Store(f"{store.root} copy")
    shutil.copytree(store.root, copy.root)
    status, said = gives("cancel", of=copy)
    assert (status, "no job of it was left" in said) == (0, True), said
    assert field(job, "JobState") == "PENDING"

    status, said = gives("cancel")
    assert (status, "1 job cancelled" in said) == (0, True), said
    assert field(job, "JobState") == "CANCELLED"
    assert gives("resume")[0] == 0
    assert len(jobs_of(store)) == 2, "the other jobs are no workers"
    assert f"job {job}:" in gives("logs")[1]
    status, said = gives("cancel")
    assert (status, "1 job cancelled" in said) == (0, True), said
    status, said = gives("cancel")
    assert (status, "no job of it was left" in said) == (0, True), said
