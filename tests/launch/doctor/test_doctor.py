"""The doctor, with stand-ins for Slurm's commands: what would fail is said before it does."""

from dataclasses import replace

import pytest

from launch.__main__ import main
from launch.doctor import machine, node
from launch.doctor.machine import FAILS, OK, UNKNOWN
from launch.launchers.slurm import short_job
from launch.plan.device import NO_COMPILER
from plasticity_lab.kernels import on_gpu

pytestmark = pytest.mark.sample(8)


def bad(visit):
    """What fails there."""
    return [finding["words"] for finding in visit() if finding["state"] != OK]


def test_without_slurm_this_machine_is_looked_at_and_that_is_said(stand_in, doctor):
    stand_in.lacks("sbatch")
    status, (here, there, _) = doctor()
    assert (status, here.split(",")[0], there.split(":")[0]) == (0, "On this machine", "On a compute node")
    assert "sbatch" in there
    assert not stand_in.submitted


@pytest.mark.parametrize(
    ("words", "keys"),
    [(["benchmark=cifar51", "data=nowhere"], "CIFAR-100"), (["tracking=wandb_online"], "W&B: tracking=wandb_online")],
)
def test_what_would_fail_on_this_machine(stand_in, doctor, words, keys):
    status, (_, line, _, last) = doctor("hydra/launcher=packed", *words)
    assert (status, line.split()[0], last.split()[0]) == (1, FAILS, "1")
    assert keys in line


@pytest.mark.parametrize(("runs", "words"), [(False, "nvidia-cuda-mps-control -d"), (True, "up to 4 workers")])
def test_it_says_whether_workers_can_share_a_gpu(monkeypatch, runs, words):
    assert machine.of_gpus() == []
    monkeypatch.setattr(machine, "devices", lambda _: ["cuda:0"])
    monkeypatch.setattr(machine, "mps_runs", lambda: runs)
    monkeypatch.setattr(machine, "workers_to_share", lambda gpus: 4 // gpus)
    monkeypatch.setattr(on_gpu, "hindrance", lambda device: None)
    kernels, finding = machine.of_gpus()
    assert (finding.state == OK) == runs
    assert words in finding.words
    assert kernels.state == OK
    monkeypatch.setattr(on_gpu, "hindrance", lambda device: f"no compiler for {device}")
    kernels, _ = machine.of_gpus()
    assert kernels.state != OK
    assert "no compiler for cuda:0" in kernels.words


def test_a_store_that_is_not_there_could_be_made_and_is_not(stand_in, doctor, store, capsys):
    above = sorted(store.root.parent.iterdir())
    assert doctor("hydra/launcher=packed")[0] == 0
    assert sorted(store.root.parent.iterdir()) == above
    assert main(["doctor", "hydra/launcher=packed", f"store={store.root / 'new' / 'one'}"]) == 0
    assert "it is not there yet, and can be made" in capsys.readouterr().out
    assert sorted(store.root.parent.iterdir()) == above


def test_wandb_is_asked_whether_it_answers(stand_in, doctor, server, monkeypatch):
    assert doctor("hydra/launcher=packed", "tracking=wandb_online")[0] == 0
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    status, lines = doctor("hydra/launcher=packed", "tracking=auto")
    assert status == 1
    assert "W&B: http://127.0.0.1:9 cannot be reached from this machine" in lines[1]
    assert "tracking=wandb_offline" in lines[1]


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (["partition=gpuu"], "partition gpuu; cpu, gpu, old"),
        (["partition=old"], "Partition old; down"),
        (["partition=gpu", "timeout_min=240"], "Partition gpu; 2:00:00; 240 minutes; hydra.launcher.timeout_min=120"),
        (["account=mine"], "Account mine"),
        (["timeout_min=3"], "hydra.launcher.timeout_min=3"),
    ],
)
def test_what_would_fail_of_slurm_and_no_job_is_sent(stand_in, doctor, words, keys):
    status, (_, line, place, unsent, _) = doctor(*(f"hydra.launcher.{word}" for word in words))
    assert (status, line.split()[0], unsent.split()[0]) == (1, FAILS, UNKNOWN)
    assert [key for key in keys.split("; ") if key not in line] == []
    assert place == "On a compute node:"
    assert not stand_in.submitted


@pytest.mark.slow
def test_a_job_looks_at_everything_from_its_node_and_leaves_nothing(stand_in, store, capsys):
    """Without accounting, and with an account that is one's own; GPUs are another matter."""
    stand_in.refuses("sacct", "Slurm accounting storage is disabled")
    words = ["hydra.launcher.account=lab", "launch.workers=12", "mode=eager"]
    assert main(["doctor", f"store={store.root}", *words]) == 0
    here, _, there = capsys.readouterr().out.partition("On a compute node, n7, in job 12:")
    assert all(f"  ok           {words}" in here for words in ("Accounting: none", "Arrays: 11 jobs"))
    for words in ("Store ", "Code, Python and packages: ", "Data: digits", "Device: cpu", "Shared: "):
        assert f"  ok           {words}" in there
    assert not store.root.exists()


def test_a_store_that_a_node_does_not_see_is_not_made_there(visit, tmp_path):
    elsewhere = replace(visit, store=str(tmp_path / "other"), trial=str(tmp_path / "other" / "errands" / "trial"))
    (words,) = bad(elsewhere)
    assert words.startswith(f"Store {tmp_path / 'other'}: files ")
    assert "are not seen on this node; put it on a file system that all nodes share." in words
    assert not (tmp_path / "other").exists()


def test_a_node_with_other_code_or_without_a_compiler(visit, monkeypatch):
    assert bad(visit) == []
    (words,) = bad(replace(visit, here={**visit.here, "commit": "abc", "versions": {"torch": "0.1"}}))
    assert all(key in words for key in ("commit is ", "abc", "versions is "))
    monkeypatch.setattr(node, "software", lambda: {**visit.here, "uncompiled": NO_COMPILER.sentence})
    (words,) = bad(visit)
    assert all(key in words for key in (NO_COMPILER.sentence, "mode=eager"))
    assert bad(replace(visit, compiled=False)) == []


def test_a_node_of_another_kind_without_a_gpu_or_a_key(visit, monkeypatch):
    (words,) = bad(replace(visit, kind="NVIDIA H200"))
    assert all(key in words for key in ("NVIDIA H200", "device=cpu"))
    assert bad(replace(visit, kind="cpu-another-kind")) == [], "its workers bind packs to their own"
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert "CUDA_VISIBLE_DEVICES=3" in bad(replace(visit, gpu=True))[0]
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    key, network = bad(replace(visit, online=True))
    assert "no key" in key
    assert "http://127.0.0.1:9" in network


def test_a_job_that_ends_without_a_word(stand_in, doctor, monkeypatch):
    monkeypatch.setattr(short_job, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(short_job, "LATE_SECONDS", 0)
    stand_in.put("srun", "exit 1")
    status, (_, _, line, _) = doctor()
    assert (status, line.split()[0], "Job 12" in line) == (1, FAILS, True)
    stand_in.put("srun", 'file=${3//%j/12}; echo "python: not found" >"${file//%t/0}"')
    assert "python: not found; the node needs" in doctor()[1][2]


@pytest.mark.parametrize(("patience", "words"), [("0", "Resources"), ("10", "was not waited for")])
def test_a_job_that_is_not_waited_for_is_cancelled(stand_in, doctor, store, monkeypatch, patience, words):
    def interrupted(said):
        if patience != "0":
            raise KeyboardInterrupt

    monkeypatch.setattr(short_job, "say", interrupted)
    monkeypatch.setenv("STATE", "PENDING|Resources")
    status, (_, place, line, _) = doctor("--wait", patience)
    assert (status, place, line.split()[0]) == (0, "On a compute node:", UNKNOWN)
    assert all(key in line for key in ("Job 12", words))
    assert (stand_in.jobs / "cancelled").exists()
    assert not (store.root / "errands").exists()
