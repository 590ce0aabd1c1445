"""The machine of a campaign, with scripts in place of NVIDIA's programs: the GPU, the service and its end."""

import os
import time

import pytest

from launch.campaign import machine, watcher


def seems(folder, name, script):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_the_multi_process_service_is_started_and_ended(tmp_path, monkeypatch):
    monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with machine.multi_process_service("cuda") as of:
        assert of == {}, "this machine has none"
    seems(
        tmp_path / "bin",
        machine.CONTROL,
        f'echo "$1 $(test -t 0 || cat)" >> {tmp_path}/said; test -d $CUDA_MPS_PIPE_DIRECTORY',
    )
    with machine.multi_process_service("cuda") as of:
        assert of.keys() == {"CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"}
        assert (tmp_path / "said").read_text().split() == ["-d"]
    assert (tmp_path / "said").read_text().split() == ["-d", "quit"]
    seems(tmp_path / "bin", machine.CONTROL, "exit 1")
    with machine.multi_process_service("cuda") as of:
        assert of == {}, "it does not start"
    with machine.multi_process_service("cpu") as of:
        assert of == {}


@pytest.mark.parametrize("ends", [True, False])
def test_the_watcher_ends_the_multi_process_service_that_a_killed_campaign_started(tmp_path, monkeypatch, ends):
    monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)
    seems(
        tmp_path / "bin", machine.CONTROL, f'echo "$1 $(test -t 0 || cat) $CUDA_MPS_PIPE_DIRECTORY" >> {tmp_path}/said'
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with watcher.watched() as watch:
        watch.service("/pipe")
        if ends:
            watch.service("")
    said = (tmp_path / "said").read_text().split() if (tmp_path / "said").exists() else []
    assert said == ([] if ends else ["quit", "/pipe"])


def test_the_gpus_memory_and_use_are_read(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    seems(
        tmp_path / "bin",
        "nvidia-smi",
        "case $1 in *memory.total) echo 143771;; *name) echo NVIDIA H200;; *) echo 75; echo 25; exec sleep 60;; esac",
    )
    assert machine.gpu_memory_gb() == pytest.approx(140.4, abs=0.1)
    assert machine.gpu_name() == "NVIDIA H200"
    with machine.busy("cuda", tmp_path / "busy.txt"):
        until = time.monotonic() + 30
        while machine.busy_share(tmp_path / "busy.txt")[1] < 2 and time.monotonic() < until:
            time.sleep(0.02)
    assert machine.busy_share(tmp_path / "busy.txt") == (0.5, 2)
    assert machine.busy_share(tmp_path / "none.txt") == (0.0, 0)
