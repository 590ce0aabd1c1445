import shutil
import subprocess

import pytest

from launch.launchers.slurm import cluster
from tests.helpers.slurm_jobs import NoneOfItsOwn, claimed, configuration, jobs_in, resume_drained


@pytest.fixture(scope="session")
def own_slurm():
    """The configuration of a Slurm that this process has for itself."""
    if shutil.which("sinfo") is None:
        pytest.skip("Slurm is not installed here; `make slurm-up` installs and starts one, as root in a container")
    try:
        configured = configuration()
        if not configured.exists():
            pytest.skip("no Slurm of our own runs here; `make slurm-up` starts one")
        with claimed(configured):
            yield configured
    except NoneOfItsOwn as error:
        pytest.fail(str(error))


@pytest.fixture
def slurm(own_slurm, monkeypatch, tmp_path):
    """The Slurm of `make slurm-up`, whether or not its environment was sourced; no job of the test outlives it."""
    monkeypatch.setenv("SLURM_CONF", str(own_slurm))
    try:
        there = subprocess.run(["sinfo", "-h", "-o", "%R"], capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        pytest.skip("Slurm does not answer; `make slurm-up` starts one")
    if there.returncode or "preempt_grace" not in there.stdout.split():
        pytest.skip("the Slurm that `make slurm-up` starts does not run here")
    resume_drained()
    yield
    cluster.cancel(jobs_in(tmp_path))
