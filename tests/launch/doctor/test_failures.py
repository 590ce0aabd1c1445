"""The ways in which a sweep fails on a cluster, each made to fail: doctor names it and the way out.

Slurm's commands are stand-ins that print what those of Slurm 22.05 print.
"""

import errno
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from types import SimpleNamespace

import pytest

from launch.doctor import machine, node
from launch.doctor.machine import FAILS, OK, UNKNOWN, of_scratch
from launch.doctor.node import of_array
from launch.doctor.slurm import of_partitions, of_slurm
from launch.launchers.slurm import short_job
from plasticity_lab.assembly import benchmarks_of
from tests.helpers.login_node import NODES, PARTITION
from tests.helpers.slurm_files import PARAMETERS
from tests.helpers.sweeps import runs_of

ASKED = {key: value for key, value in PARAMETERS.items() if key != "_target_"}
PREEMPTS = "PreemptType             = preempt/partition_prio\n"
NO_PREEMPTION = "PreemptType             = preempt/none\n"
SUBMIT_LIMIT = """sbatch: error: QOSMaxSubmitJobPerUserLimit
allocation failure: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"""


@pytest.mark.parametrize(
    ("said", "what", "way_out"),
    [
        ({"partition": "cpu", "gpus_per_node": 1}, "none has a GPU", "partitions that have some: gpu"),
        ({"partition": "cpu", "mem_gb": 300}, "300 GiB, and the largest has 250 GiB", "hydra.launcher.mem_gb=250 "),
        ({"cpus_per_task": 65}, "65 cores, and the largest has 64", "lower hydra.launcher.cpus_per_task"),
        ({"cpus_per_task": 17, "constraint": "zen4"}, "17 cores, and the largest has 16", "cpus_per_task"),
        ({"constraint": "zen5"}, "none has the feature", "there are these: icelake, zen4"),
        ({"qos": "fast"}, "Quality of service fast is not one of", "hydra.launcher.qos=normal or short"),
        ({"account": "lab", "qos": "short"}, "short lets jobs last 00:30:00", "hydra.launcher.timeout_min=30"),
        ({"partition": "gpu", "timeout_min": 240}, "lets jobs last 2:00:00", "hydra.launcher.timeout_min=120"),
        ({"additional_parameters": {"no-requeue": True}}, "no job comes back", "leave requeue and no-requeue"),
    ],
)
def test_what_slurm_says_before_a_job_is_sent(stand_in, said, what, way_out):
    (found,) = [finding for finding in of_slurm(PARAMETERS | said) if finding.state != OK]
    assert found.state == FAILS
    assert what in found.words
    assert way_out in found.words


@pytest.mark.parametrize(
    ("refusal", "way_out"),
    [
        (SUBMIT_LIMIT, "launch.workers=NUMBER"),
        ("allocation failure: Invalid qos specification", "hydra.launcher.qos"),
        ("allocation failure: Invalid account or account/partition combination specified", "hydra.launcher.account"),
        ("allocation failure: Invalid feature specification", "hydra.launcher.constraint"),
        ("allocation failure: Requested node configuration is not available", "lower them"),
    ],
)
def test_sbatch_is_asked_whether_it_would_take_the_whole_array(stand_in, refusal, way_out):
    assert of_array(7, ASKED).state == OK
    stand_in.tells("refusal", refusal)
    found = of_array(7, ASKED)
    assert found.state == FAILS
    assert refusal.splitlines()[-1].partition(":")[2].strip() in found.words
    assert way_out in found.words
    assert not stand_in.submitted


@pytest.mark.sample(2)
def test_no_job_is_sent_where_sbatch_would_refuse_the_array(stand_in, doctor):
    stand_in.tells("refusal", SUBMIT_LIMIT)
    status, (_, _, _, unsent, _) = doctor()
    assert status == 1
    assert "No job was sent" in unsent
    assert not stand_in.submitted


def test_an_sbatch_that_does_not_heed_the_option_has_its_job_cancelled(stand_in):
    stand_in.put("sbatch", 'sed "" "$1" >"$JOBS/12"; echo "Submitted batch job 12"')
    assert of_array(7, ASKED).state == OK
    assert (stand_in.jobs / "cancelled").read_text().split()[-1] == "12"


def test_nodes_that_are_all_out_of_use(stand_in):
    stand_in.tells("nodes", NODES.replace("idle", "down*").replace("mixed", "drained"))
    found = of_partitions(PARAMETERS, NO_PREEMPTION)[-1]
    assert found.state == FAILS
    assert "out of use (down*, drained)" in found.words
    assert "name another partition" in found.words
    stand_in.tells("nodes", NODES.replace("idle", "idle~").replace("mixed", "drained"))
    assert of_partitions(PARAMETERS, NO_PREEMPTION)[-1].state == OK, "nodes that are powered down are started for a job"


@pytest.mark.parametrize(
    ("mode", "state", "words"),
    [("REQUEUE", OK, "30 s before"), ("CANCEL", UNKNOWN, "python -m launch resume"), ("SUSPEND", OK, "go on later")],
)
def test_preemption_after_which_jobs_come_back_or_do_not(stand_in, mode, state, words):
    stand_in.tells("partition", PARTITION.replace("PreemptMode=REQUEUE", f"PreemptMode={mode}"))
    found = of_partitions(PARAMETERS, PREEMPTS)[-1]
    assert (found.state, words in found.words) == (state, True)
    assert all("Preemption" not in each.words for each in of_partitions(PARAMETERS, NO_PREEMPTION))


def test_gpus_of_two_types_in_one_partition(stand_in):
    stand_in.tells("nodes", NODES + "gpu|up|2:00:00|4|idle|32|128000|(null)|gpu:a100:8(S:0-1),shard:8")
    mixed = PARAMETERS | {"partition": "gpu", "timeout_min": 60, "gpus_per_node": 1}
    found = of_partitions(mixed, NO_PREEMPTION)[-1]
    assert found.state == UNKNOWN
    assert "a100, h100" in found.words
    assert "hydra.launcher.gres=gpu:a100:1" in found.words
    assert of_partitions(mixed | {"gpus_per_node": None, "gres": "gpu:h100:1"}, NO_PREEMPTION)[-1].state == OK


@pytest.mark.sample(2)
def test_a_gpu_that_was_never_calibrated(stand_in, doctor, store):
    stand_in.tells("refusal", "allocation failure: no")  # no job is needed to see it
    _, lines = doctor("hydra/launcher=slurm_gpu", "hydra.launcher.timeout_min=60")
    (line,) = [line for line in lines if "Plans" in line]
    assert (
        f"python -m launch calibrate hydra/launcher=slurm_gpu hydra.launcher.timeout_min=60 --store {store.root} --wait"
        in line
    )


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("words", "what", "way_out"),
    [
        (["memory_gb=0.0001"], "and a pack may use", "choose"),
        (["timeout_min=4", "max_num_timeout=0"], "may start 1 time", "hydra.launcher.timeout_min"),
    ],
)
def test_packs_that_do_not_fit_into_a_job(stand_in, doctor, words, what, way_out):
    stand_in.tells("refusal", "allocation failure: no")  # no job is needed to see it
    _, lines = doctor(*(f"hydra.launcher.{word}" for word in words), "benchmark.tasks=1000000", "mode=eager")
    (line,) = [line for line in lines if what in line]
    assert line.startswith(FAILS)
    assert way_out in line


@pytest.mark.walk(1)
@pytest.mark.parametrize(
    ("log", "way_out"),
    [
        ("slurmstepd-n1: error: execve(): /x/.venv/bin/python: No such file or directory", sys.executable),
        ("ModuleNotFoundError: No module named 'torch'", "hydra.launcher.setup"),
        ("python: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by python)", "hydra.launcher.setup"),
        (
            "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed.",
            "mem_gb",
        ),
        ("OSError: [Errno 122] Disk quota exceeded", "name another store"),
        ("OSError: [Errno 30] Read-only file system: '/store'", "where nodes can write"),
    ],
)
def test_a_job_that_ends_before_it_can_answer(stand_in, doctor, monkeypatch, log, way_out):
    """The last lines of such a log are srun's, which say only that the task has ended."""
    monkeypatch.setattr(short_job, "LATE_SECONDS", 0)
    monkeypatch.setattr(short_job, "LOOK_SECONDS", 0.05)
    stand_in.tells("log", f"{log}\nsrun: error: n7: task 0: Exited with exit code 2")
    stand_in.put("srun", 'file=${3//%j/12}; cat "$JOBS/log" >"${file//%t/0}"')
    line = doctor()[1][2]
    assert line.startswith(FAILS)
    assert log in line
    assert way_out in line.partition(log)[2]


def fails_of(visit):
    return [finding["words"] for finding in visit() if finding["state"] == FAILS]


def test_a_store_that_a_node_cannot_write(visit, monkeypatch):
    def refused(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "link", refused)
    assert "mounted read-only" in fails_of(visit)[0]
    monkeypatch.setattr(os, "link", lambda *_, **__: (_ for _ in ()).throw(OSError(errno.EPERM, "no")))
    assert "no hard links" in fails_of(visit)[0]
    assert "store=FOLDER" in fails_of(visit)[0]


def test_data_that_a_node_does_not_see(visit, tmp_path):
    absent = replace(visit, benchmarks=benchmarks_of(runs_of("benchmark=cifar51")), data=str(tmp_path))
    (words,) = fails_of(absent)
    assert "CIFAR-100 is not in " in words
    assert "python -m plasticity_lab.data fetch" in words


def test_memory_that_a_control_group_does_not_leave(visit, monkeypatch):
    monkeypatch.setattr(node, "limited_memory", lambda: 100 * 2**20)
    (words,) = fails_of(replace(visit, memory=5 * 2**29))
    assert "100 MiB" in words
    assert "hydra.launcher.mem_gb=3" in words
    assert fails_of(replace(visit, memory=2**20)) == []


def test_temporary_files_that_cannot_be_written(visit, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/proc/nowhere")
    assert of_scratch().state == FAILS
    assert any("TMPDIR=FOLDER" in words for words in fails_of(replace(visit, compiled=False)))


def test_a_disk_that_is_full_of_bytes_or_of_files(visit, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=2**20))
    assert "1 MiB are free there, too little" in fails_of(visit)[0]
    monkeypatch.undo()
    files = SimpleNamespace(f_files=1000, f_favail=12, f_frsize=4096, f_bavail=2**30, f_bfree=2**30, f_blocks=2**30)
    monkeypatch.setattr(machine.os, "statvfs", lambda place: files)
    assert "12 more files" in fails_of(visit)[0]


def test_a_quota_below_what_the_disk_has(doctor, small_disk, monkeypatch):
    """The disk says that it has room, and writing fails."""
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=2**40))
    status, lines = doctor("hydra/launcher=packed", f"store={small_disk / 'store'}")
    assert status == 1
    assert "1 TiB are free there, but not for you" in lines[1]
    assert not list(small_disk.rglob("*"))
