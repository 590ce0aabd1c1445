"""The doctor, calibration, and clusters that lack something, on a real Slurm."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from launch.__main__ import main
from plasticity_lab.records.store import Store
from tests.helpers.slurm_jobs import jobs_in, order
from tests.helpers.sweeps import all_kept, runs_of, said, wait_until

pytestmark = [pytest.mark.slurm, pytest.mark.slow]
ON_N2 = "+hydra.launcher.additional_parameters.nodelist=n2"


@pytest.fixture
def doctor(store, capsys):
    """Gives the command → its status, and what it said."""

    def run(*words):
        status = main(["doctor", f"store={store.root}", "tracking=store", *words])
        return status, capsys.readouterr().out

    return run


@pytest.fixture
def blind_node(slurm, tmp_path):
    """Node n2 with an empty folder of its own where this machine has the store's."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    pid = Path(os.environ["SLURM_CONF"]).parents[1] / "pid" / "slurmd-n2.pid"
    allowed = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
    if allowed.returncode:
        pytest.skip(f"a node that sees other files needs root: {allowed.stderr.strip()}")

    def restart(*before):
        number = int(pid.read_text())
        os.kill(number, signal.SIGTERM)
        wait_until(lambda: not Path(f"/proc/{number}/exe").exists())
        subprocess.run([*before, "slurmd", "-N", "n2"], check=True)
        wait_until(lambda: order("sinfo", "-h", "-n", "n2", "-o", "%T").startswith("idle"))

    restart("unshare", "--mount", "sh", "-c", f'mount -t tmpfs tmpfs {hidden} && exec "$@"', "sh")
    yield hidden, lambda: order("nsenter", "--mount", "--target", pid.read_text().strip(), "ls", "-A", hidden).split()
    restart()


def test_where_all_is_well_the_doctor_says_so_and_leaves_nothing(slurm, store, doctor):
    status, out = doctor("hydra/launcher=slurm_cpu")
    assert status == 0, out
    assert "ok           Shared: each sees the files that the other has written into the store." in out
    assert "fails" not in out
    assert "unknown  " not in out
    assert not (store.root / "errands").exists()


def test_a_node_without_a_gpu_that_torch_can_use(slurm, store, doctor):
    status, out = doctor("hydra/launcher=slurm_gpu")
    assert status == 1
    assert "fails        Plans: Packs are planned for one kind of GPU, and the store has no calibration of one" in out
    assert "fails        GPU: torch can use none here (CUDA_VISIBLE_DEVICES=" in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["hydra.launcher.partition=gpuu"], "fails        There is no partition gpuu in this cluster; there are cpu, "),
        (["hydra.launcher.gres=gpu:99", "device=cpu"], "fails        sbatch refused the job: Requested node "),
        (["hydra.launcher.mem_gb=1000"], "say hydra.launcher.mem_gb=62 or less."),
        (["hydra.launcher.partition=preempt", "hydra.launcher.constraint=zen9"], "there are these: none."),
    ],
)
def test_what_slurm_refuses(slurm, doctor, words, sentence):
    status, out = doctor(*words)
    assert status == 1
    assert sentence in out


def test_a_job_that_stays_in_the_queue_is_cancelled(slurm, doctor, tmp_path):
    status, out = doctor("+hydra.launcher.additional_parameters.begin=now+1hour", "--wait", "0.05")
    assert status == 0
    assert "unknown      Job " in out
    assert "still waits until its time comes" in out
    wait_until(lambda: not jobs_in(tmp_path))


def test_a_calibration_is_measured_by_a_job(slurm, store, capsys):
    words = "hydra/launcher=slurm_cpu --mode eager --repeats 1 --steps 2 --wait".split()
    assert main(["calibrate", *words, "--store", str(store.root)]) == 0
    (kept,) = store.root.glob("calibration/cpu-*.json")
    assert f"kept in {kept}" in capsys.readouterr().out


def test_without_accounting_a_sweep_comes_to_its_end(slurm, store, tmp_path):
    """sacct and sacctmgr are hidden here, and on the node too."""
    there = tmp_path / "bin"
    there.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if name not in ("sacct", "sacctmgr") and not (there / name).is_symlink():
                (there / name).symlink_to(Path(folder) / name)
    assert shutil.which("sacct", path=str(there)) is None
    words = ("activation=relu,tanh", "seed=0,1")
    status, err = said(store, "hydra/launcher=packed_slurm", "launch.wait=true", *words, PATH=str(there))
    assert status == 0, err
    assert len(all_kept(store, runs_of(*words))) == 4


def test_a_store_that_the_node_does_not_see(blind_node, tmp_path, capsys):
    """Without its folder Slurm ends a job before it can say a word; with another for its log, the worker says it."""
    hidden, seen_on_node = blind_node
    store, jobs = Store(hidden / "store"), f"hydra.launcher.submitit_folder={tmp_path}/jobs"
    assert main(["doctor", f"store={store.root}", "tracking=store", ON_N2]) == 1
    assert "is not there on its node, or cannot be written there" in capsys.readouterr().out
    status, err = said(store, "hydra/launcher=packed_slurm", ON_N2, jobs, "launch.wait=true")
    assert status == 1
    assert "ended early: failed with exit status 1, on n2." in err
    (log,) = sorted((tmp_path / "jobs").glob("*/*_log.out"))
    assert "This node does not see sweep " in log.read_text()
    assert seen_on_node() == []
