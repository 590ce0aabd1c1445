"""Commands for a cluster that cannot work there: a sentence each, and nothing is queued.  Slurm is a stand-in."""

import re
import shlex

import pytest

from launch.__main__ import main
from launch.command import run_command
from launch.packs.submissions import submissions_of
from launch.plan.calibration import write_calibration
from launch.plan.device import kind_of
from launch.plan.speed import GPU, Calibration
from plasticity_lab.records.kinds import device_name
from tests.helpers.stores import left_behind
from tests.helpers.sweeps import said_last

pytestmark = pytest.mark.sample(7)

PACKED = ("hydra/launcher=packed_slurm", "schedule=smoke", "tracking=store", "mode=eager")
A_GPU = "hydra.launcher.gpus_per_node=1"


@pytest.fixture
def command(store, stand_in, capsys):
    """Gives a command → its status, and what it said on stderr.  Jobs wait in the queue for good."""
    stand_in.put("sbatch", 'sed "" "$1" >"$JOBS/12"; echo "Submitted batch job 12"')

    def run(*words):
        status = run_command(said_last(*PACKED, f"store={store.root}", *words))
        return status, capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (["hydra.launcher.partition='cpu,gpuu'"], "partition gpuu, cpu"),
        (["hydra.launcher.timeout_min=2"], "hydra.launcher.timeout_min=2"),
        (["device=cuda"], "device is cuda, hydra.launcher.gpus_per_node=1, gres"),
        ([A_GPU], "calibration, GPU"),
        (["tracking=wandb_online"], "tracking=wandb_online, key, wandb login"),
        (["benchmark=permuted_mnist", "data=nowhere"], "MNIST, nowhere"),
    ],
)
def test_what_cannot_work_is_a_sentence_and_nothing_is_queued_or_written(command, store, stand_in, words, keys):
    status, err = command(*words)
    assert (status, err.count("\n")) == (1, 1)
    assert [key for key in keys.split(", ") if key not in err] == [], err
    assert not stand_in.submitted
    assert not store.root.exists()


def test_a_wrong_partition_is_said_though_all_is_finished_and_no_gpu_was_measured(command, store, stand_in):
    left_behind(store.root, ["schedule=smoke"], lambda science: 0.5)
    status, err = command("hydra.launcher.partition=gpuu", A_GPU)
    assert (status, err.partition(";")[0]) == (1, "There is no partition gpuu in this cluster")
    status, err = command(A_GPU)
    assert status == 0
    assert "finished already" in err
    assert not stand_in.submitted


@pytest.mark.parametrize("own", [[], ["--config-dir", "OWN"]])
def test_a_cluster_that_was_never_calibrated_names_the_command_that_does_it(
    store, stand_in, capsys, monkeypatch, tmp_path, own
):
    """As README has it: the command that is named is given here, to the same store, and submits a measurement."""
    (tmp_path / "own" / "hydra" / "launcher").mkdir(parents=True)
    mine = tmp_path / "own" / "hydra" / "launcher" / "my_gpu.yaml"
    mine.write_text("defaults: [packed_slurm]\npartition: gpu\ngpus_per_node: 1\n")
    folder = [word.replace("OWN", str(tmp_path / "own")) for word in own]
    launcher = "hydra/launcher=my_gpu" if own else "hydra/launcher=slurm_gpu"
    words = [*folder, launcher, "hydra.launcher.timeout_min=100", f"store={store.root}", "activation=relu,tanh"]
    monkeypatch.setattr("sys.orig_argv", ["python", "-m", "plasticity_lab.main", *words])
    assert run_command(words) == 1
    named = re.search(r"python -m launch (calibrate .*--wait)", capsys.readouterr().err)
    assert named
    given = shlex.split(named[1])
    stand_in.put("sbatch", 'sed "" "$1" >"$JOBS/12"; echo "Submitted batch job 12"')
    assert main([word for word in given if word != "--wait"]) == 0
    script = (stand_in.jobs / "12").read_text()
    assert "--partition=gpu" in script
    assert str(store.root) in script


@pytest.mark.parametrize("lacking", [["sbatch"], ["srun", "scancel"]])
def test_a_machine_that_is_no_login_node(command, store, stand_in, lacking):
    stand_in.lacks(*lacking)
    status, err = command()
    assert (status, err.count("\n")) == (1, 1)
    assert f"needs {', '.join(lacking)}" in err
    assert not store.root.exists()


def test_more_workers_than_an_array_may_have(command, store, stand_in):
    seeds = "seed=" + ",".join(map(str, range(13)))
    status, err = command(seeds, "launch.workers=13")
    assert status == 0, err
    assert "This cluster allows arrays of 11 jobs: launch.workers=13 is more." in err
    (sweep,) = (path.name for path in (store.root / "sweeps").iterdir())
    (submission,) = submissions_of(store, sweep, [])
    assert (submission.job, submission.outcome.jobs, submission.cluster) == ("12", 11, "north")
    script = (stand_in.jobs / "12").read_text()
    assert "--array=0-10%" in script
    assert submission.token in script


def test_a_gpu_is_planned_for_with_its_own_figures_where_there_are_some(command, store):
    status, err = command(A_GPU, "hydra.launcher.device_kind='NVIDIA H200'")
    assert status == 0, err
    assert "on NVIDIA H200; store" in err
    write_calibration(store, "NVIDIA H100", Calibration(GPU.speeds, "measured there"), {})
    status, err = command(A_GPU, "seed=1")
    assert status == 0, err
    assert "on NVIDIA H100; store" in err
    write_calibration(store, "NVIDIA A100", Calibration(GPU.speeds, "measured there"), {})
    err = command(A_GPU, "seed=2")[1]
    assert all(f"hydra.launcher.device_kind='NVIDIA {name}'" in err for name in ("A100", "H100"))


def test_a_calibration_that_is_not_waited_for_says_how_to_ask(store, stand_in, capsys, monkeypatch):
    monkeypatch.setenv("STATE", "PENDING|Resources")
    assert main(["calibrate", "hydra/launcher=packed_slurm", "--store", str(store.root)]) == 0
    err = capsys.readouterr().err
    assert f"Job 12 measures, and writes its result into {store.root}/calibration" in err
    assert "squeue --jobs=12" in err


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "status"), [([], 0), ([A_GPU], 1)])
def test_a_calibration_in_a_job_is_what_plans_find(store, stand_in, capsys, monkeypatch, asked, status):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    words = ["hydra/launcher=packed_slurm", *asked, "--mode", "eager", "--repeats", "1", "--steps", "2", "--wait"]
    assert main(["calibrate", *words, "--store", str(store.root)]) == status
    out, err = capsys.readouterr()
    assert store.calibration(device_name(kind_of("cpu"))).exists() is (status == 0)
    assert ("cnn, eager: packs of " in out) is (status == 0)
    assert ("device is cuda, but this machine has no GPU" in err) is (status == 1)
    assert not (store.root / "errands").exists()
