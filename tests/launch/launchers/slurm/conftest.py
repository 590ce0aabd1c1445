import shutil
import subprocess

import pytest

from tests.helpers.slurm_jobs import CONFIGURATION, resume_drained


@pytest.fixture
def slurm(monkeypatch):
    """The Slurm of `make slurm-up`, whether or not its environment was sourced; no job of the test outlives it."""
    if shutil.which("sinfo") is None:
        pytest.skip("Slurm is not installed here; `make slurm-up` installs and starts one, as root in a container")
    if CONFIGURATION.exists():
        monkeypatch.setenv("SLURM_CONF", str(CONFIGURATION))
    try:
        there = subprocess.run(["sinfo", "-h", "-o", "%R"], capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        pytest.skip("Slurm does not answer; `make slurm-up` starts one")
    if there.returncode or "preempt_grace" not in there.stdout.split():
        pytest.skip("the Slurm that `make slurm-up` starts does not run here")
    resume_drained()
    yield
    for name in ("plasticity_lab", "pusher"):  # scancel takes no list of them
        subprocess.run(["scancel", f"--name={name}"], check=True)
