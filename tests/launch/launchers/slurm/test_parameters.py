import subprocess

import pytest

from launch.launchers.slurm.cluster import in_seconds
from launch.launchers.slurm.parameters import PackedSlurmConf, check_parameters, for_submitit, wants_gpu
from launch.launchers.slurm.submit_once import _setup, jobs_needed
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.plan import Pack


def parameters(**said):
    names = PackedSlurmConf.__dataclass_fields__
    assert set(said) <= set(names)
    return {name: getattr(PackedSlurmConf(), name) for name in names} | said


def packs(*seconds):
    ids = map(str, range(len(seconds)))
    return [Pack(id, 0, (id,), "", "cpu", "eager", 1, "steps", 1, 1, of) for id, of in zip(ids, seconds, strict=True)]


@pytest.mark.parametrize(
    ("said", "device", "gpu"),
    [
        ({}, "auto", False),
        ({"gpus_per_node": 1}, "auto", True),
        ({"gpus_per_node": 1}, "cpu", False),
        ({"gres": "gpu:a100:1"}, "auto", True),
        ({"gres": "lustre:1"}, "auto", False),
        ({"additional_parameters": {"gpus": 1}}, "cuda", True),
    ],
)
def test_a_worker_trains_on_a_gpu_where_the_job_asks_for_one(said, device, gpu):
    assert wants_gpu(parameters(**said), device) is gpu


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_devices_that_slurm_will_not_give(device):
    with pytest.raises(ConfigError, match=f"device is {device}"):
        wants_gpu(parameters(), device)


@pytest.mark.parametrize(("key", "value"), [("timeout_min", 3), ("array_parallelism", 0), ("array_parallelism", -1)])
def test_jobs_that_could_not_run_or_would_be_warned_before_they_begin(key, value):
    check_parameters(parameters(timeout_min=4, array_parallelism=1))
    with pytest.raises(ConfigError, match=f"{key}={value}"):
        check_parameters(parameters(**{key: value}))


def test_submitit_gets_its_own_names_and_a_job_asks_to_be_requeued():
    found = for_submitit(
        parameters(partition="a", setup=["module load x"], mem_gb=3, memory_gb=2), ["export A=1"], ["exit 0"]
    )
    assert (found["slurm_partition"], found["mem_gb"], found["timeout_min"]) == ("a", 3, 60)
    assert found["slurm_setup"] == ["module load x", "export A=1"]
    assert found["slurm_teardown"] == ["exit 0"]
    assert found["slurm_additional_parameters"] == {"requeue": True}
    assert not {name for name in found if "folder" in name or ("timeout" in name and name != "timeout_min")}
    told = for_submitit(parameters(additional_parameters={"requeue": False}), [], [])
    assert told["slurm_additional_parameters"] == {"requeue": False}


@pytest.mark.parametrize(
    ("seconds", "workers", "said", "largest", "jobs"),
    [
        ([1.0] * 19, None, {}, 1001, 1),
        ([600.0] * 19, None, {}, 1001, 19),
        ([600.0] * 19, None, {}, 10, 10),
        ([60.0] * 4, None, {}, 1001, 4),
        ([1.0] * 19, 4, {}, 1001, 4),
        ([1.0] * 3, 4, {}, 1001, 3),
        ([600.0] * 900, None, {"array_parallelism": 50}, 1001, 50),
        ([600.0] * 10, None, {"tasks_per_node": 3}, 1001, 4),
    ],
)
def test_as_many_jobs_as_the_packs_are_worth_and_the_cluster_allows(seconds, workers, said, largest, jobs):
    assert jobs_needed(packs(*seconds), workers, parameters(**said), largest) == jobs


@pytest.mark.parametrize(
    ("words", "seconds"),
    [("1-02:03:04", 93784.0), ("02:03:04", 7384.0), ("3:04", 184.0), ("UNLIMITED", None), ("INVALID", None)],
)
def test_slurms_times(words, seconds):
    assert in_seconds(words) == seconds


def test_a_script_whose_folder_is_not_there_leaves_nothing_in_the_folder_where_it_runs(tmp_path):
    script = "\n".join(_setup(tmp_path / "gone"))
    subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env={"SLURM_JOB_ID": "12", "PATH": "/bin:/usr/bin"}, check=True
    )
    assert list(tmp_path.iterdir()) == []
