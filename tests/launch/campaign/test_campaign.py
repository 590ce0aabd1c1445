"""Campaigns with small commands: limits, failures, kills, what travels, and a GPU that only seems to be there."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest
import torch
import yaml

from launch.bench.page import tables
from launch.campaign import images, machine, running, speed
from launch.campaign.__main__ import main
from launch.campaign.entry import Entry
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import all_kept, runs_of, trained

WRITES = "{python} -c 'import sys; open(sys.argv[1], \"a\").write(sys.argv[2])' {out}/said "
WAITS = "{python} -c 'import time; time.sleep(60)'"


def planned(tmp_path, **commands):
    """A plan with an entry for each name: its commands."""
    lines = [
        {"name": name, "question": "?", "minutes": 0.02, "from": "a limit", "commands": of, "leaves": "nothing"}
        for name, of in commands.items()
    ]
    path = tmp_path / "plan.yaml"
    path.write_text(yaml.safe_dump(lines, sort_keys=False))
    return ["--plan", str(path), "--folder", str(tmp_path / "campaign"), "--device", "cpu"]


def states(tmp_path):
    content = json.loads((tmp_path / "campaign" / "state.json").read_text())
    return {name: (entry["status"], entry["at"]) for name, entry in content["entries"].items()}


def test_a_campaign_prints_its_plan_runs_what_fits_and_the_next_goes_on(tmp_path, capfd):
    fails, ab = ["{python} -c 'raise SystemExit(3)'"], [WRITES + "a", WRITES + "b"]
    words = planned(tmp_path, one=ab, wrong=fails, slow=[WAITS])
    assert main([*words, "--minutes", "0.5", "--dry-run"]) == 0
    assert not (tmp_path / "campaign").exists()
    printed = capfd.readouterr().out
    assert "0.1 of 0.5 minutes are planned" in printed
    assert "0 of 3 entries are done" in printed
    assert main([*words, "--minutes", "0.5"]) == 1, "an entry failed"
    assert states(tmp_path) == {"one": ("done", 2), "wrong": ("failed", 0), "slow": ("done", 1)}
    assert (tmp_path / "campaign/results/one/said").read_text() == "ab"
    planned(tmp_path, one=ab, wrong=fails, slow=[WAITS, WAITS])
    main([*words, "--minutes", "0.5"])
    assert states(tmp_path)["slow"] == ("partly done", 1), "the limit ended the first command"
    main([*words, "--minutes", "0.5"])
    assert states(tmp_path)["slow"] == ("done", 2)
    assert (tmp_path / "campaign/results/wrong/log.txt").read_text().count("$ ") == 3, "three tries"
    assert (tmp_path / "campaign/results/one/said").read_text() == "ab"
    assert main([*words, "--minutes", "0.5", "--only", "wrong"]) == 0, "nothing is open"


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_machine_without_a_gpu_is_named_before_anything_is_begun(tmp_path, capfd):
    words = planned(tmp_path, one=[WRITES + "a"])
    assert main([*words, "--device", "cuda"]) == 1
    assert "this machine has no GPU" in capfd.readouterr().err
    assert not (tmp_path / "campaign").exists()
    assert main([*words, "--device", "cuda", "--dry-run"]) == 0
    assert "H200 with 16 cores" in capfd.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_campaign_that_is_stopped_ends_its_commands_and_goes_on_at_the_one_that_was_stopped(tmp_path, number):
    """The second command waits until the file `go` exists; it is stopped in the first campaign."""
    go = tmp_path / "go"
    waits = f"{{python}} -c 'import os, time\nwhile not os.path.exists(\"{go}\"): time.sleep(0.05)' {{out}}/pid"
    words = planned(tmp_path, one=[WRITES + "a", waits, WRITES + "c"])
    (line,) = yaml.safe_load((tmp_path / "plan.yaml").read_text())
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump([line | {"minutes": 0.8}]))
    begun = [sys.executable, "-m", "launch.campaign", *words, "--minutes", "1"]
    first = subprocess.Popen(begun, stdout=subprocess.DEVNULL)
    said = tmp_path / "campaign/results/one/said"
    until = time.monotonic() + 60
    while states_or_none(tmp_path) != {"one": ("begun", 1)} or not children(first.pid):
        assert time.monotonic() < until
        time.sleep(0.05)
    (child,) = children(first.pid)
    first.send_signal(number)
    assert first.wait(30) == (0 if number != signal.SIGKILL else -signal.SIGKILL)
    while os.path.exists(f"/proc/{child}") and time.monotonic() < until:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{child}"), "its command has ended too"
    assert states(tmp_path) == {"one": ("begun" if number == signal.SIGKILL else "partly done", 1)}
    go.touch()
    assert subprocess.run(begun, stdout=subprocess.DEVNULL, timeout=60).returncode == 0
    assert states(tmp_path) == {"one": ("done", 3)}
    assert said.read_text() == "ac"


def test_entries_that_say_so_run_at_the_same_time(tmp_path):
    """Each writes its file and waits for the other's."""
    code = 'import os, sys, time\nopen(sys.argv[1], "w")\nwhile not os.path.exists(sys.argv[2]): time.sleep(0.05)'
    waits = f"{{python}} -c '{code}'"
    words = planned(tmp_path, a=[f"{waits} {tmp_path}/a {tmp_path}/b"], b=[f"{waits} {tmp_path}/b {tmp_path}/a"])
    lines = yaml.safe_load((tmp_path / "plan.yaml").read_text())
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump([line | {"workers": 1, "minutes": 0.4} for line in lines]))
    if machine.cores() < 2:
        pytest.skip("one core")
    begun = time.monotonic()
    assert main([*words, "--minutes", "0.8"]) == 0
    assert time.monotonic() - begun < 20, "neither was stopped at its limit of 24 seconds"
    assert states(tmp_path) == {"a": ("done", 1), "b": ("done", 1)}
    for name in "ab":
        assert (tmp_path / f"campaign/results/{name}/result.json").exists()


def states_or_none(tmp_path):
    try:
        return states(tmp_path)
    except FileNotFoundError:
        return None


def children(pid):
    """The commands of a campaign, without its watcher."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        found = [int(child) for child in file.read().split()]
    return [child for child in found if "watcher" not in command(child)]


def command(pid):
    with suppress(OSError), open(f"/proc/{pid}/cmdline") as file:
        return file.read()
    return "watcher"


def test_a_command_is_asked_to_stop_and_then_killed(tmp_path):
    def ended(code, seconds, grace):
        begun = time.monotonic()
        words = [sys.executable, "-c", code, str(tmp_path / "stopped")]
        status = running.run(words, os.environ, tmp_path / "log", begun + seconds, lambda: False, grace)
        return status, time.monotonic() - begun

    polite = "import sys, time\ntry: time.sleep(60)\nexcept KeyboardInterrupt: open(sys.argv[1], 'w').write('in order')"
    assert ended(polite, 1.0, 20.0)[0] == running.STOPPED
    assert (tmp_path / "stopped").read_text() == "in order"
    deaf = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(60)"
    status, seconds = ended(deaf, 0.5, 0.5)
    assert status == running.STOPPED
    assert seconds < 20
    assert ended("raise SystemExit(7)", 60, 1.0)[0] == 7
    assert running.run(["/no/such"], {}, tmp_path / "log", time.monotonic() + 1, lambda: False) == 127


def test_images_travel_as_one_lossless_file(tmp_path, capsys):
    data, folder = tmp_path / "data", tmp_path / "campaign"
    (data / "MNIST" / "raw").mkdir(parents=True)
    content = np.random.default_rng(0).integers(0, 255, 1000).astype(np.uint8).tobytes()
    for name in ("images", "images.gz", "labels.gz"):
        (data / "MNIST" / "raw" / name).write_bytes(content)
    with pytest.raises(ConfigError, match="has none of MNIST"):
        images.pack(tmp_path, folder)
    assert main(["--pack-images", str(data), "--folder", str(folder)]) == 0
    assert "2 files" in capsys.readouterr().out, "images.gz has the numbers of images"
    found = images.unpacked(folder)
    assert (found / "MNIST/raw/images").read_bytes() == content
    assert images.unpacked(folder) == found
    assert images.there(found) - {"ale"} == {"mnist"}
    assert images.unpacked(tmp_path) is None


def test_too_large_a_file_of_images_is_refused(tmp_path, monkeypatch):
    (tmp_path / "MNIST").mkdir()
    (tmp_path / "MNIST" / "images").write_bytes(b"0" * 1000)
    monkeypatch.setattr(images, "MOST_MB", 1e-5)
    with pytest.raises(ConfigError, match="MB travel"):
        images.pack(tmp_path, tmp_path / "campaign")
    assert list((tmp_path / "campaign").iterdir()) == []


def test_measurements_have_the_form_of_the_stored_speeds(tmp_path, monkeypatch):
    one = Entry(
        "busy", "?", 1, "", commands=("{python} -m launch.bench --device {device} --out {out}/mlp --repeats 3",)
    )
    stored = json.loads((speed.MEASURED / "gpu_h200.json").read_text())
    bare = {name: value for name, value in stored.items() if name not in ("machine", "command")}
    (tmp_path / "mlp").mkdir()
    bare["provenance"] = {**bare["provenance"], "host": "a name"}
    (tmp_path / "mlp" / "bench.json").write_text(json.dumps(bare))
    (tmp_path / speed.samples_of(0)).write_text("100\n50\n[N/A]\n0\n")
    (path,) = speed.collected(tmp_path, tmp_path / "speed", "NVIDIA H200", one)
    assert path.name == "gpu_h200_busy_mlp.json"
    made = json.loads(path.read_text())
    assert made["command"] == "python -m launch.bench --device cuda --repeats 3"
    assert made["busy"] == {"share": 0.5, "samples": 3}
    assert made["comparisons"] == stored["comparisons"]
    assert made["provenance"] == stored["provenance"], "without the host's name"
    monkeypatch.setattr("launch.bench.page.RESULTS", path.parent)
    assert "### NVIDIA H200" in tables()
    assert [each.name for each in speed.take(tmp_path, tmp_path / "mlp")] == [path.name]
    with pytest.raises(ConfigError, match="no measurements"):
        speed.take(tmp_path / "mlp")


@pytest.mark.slow
def test_studies_killed_at_drawn_moments_and_carried_to_another_machine_get_the_same_numbers(tmp_path):
    """Two studies run at the same time, one for each activation."""
    words = ("benchmark=permuted_digits", "mode=eager", "seed=0,1", "benchmark.tasks=100")
    lines = [
        {
            "name": activation,
            "question": "?",
            "minutes": 2,
            "from": "a limit",
            "sweeps": [f"schedule=smoke activation={activation} {' '.join(words)}"],
            "leaves": "runs",
            "workers": 1,
        }
        for activation in ("relu", "tanh")
    ]
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(lines))
    folder, draw = tmp_path / "campaign", np.random.default_rng()
    begun = [sys.executable, "-m", "launch.campaign", "--plan", str(tmp_path / "plan.yaml"), "--device", "cpu"]
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
        process = subprocess.Popen([*begun, "--folder", str(folder), "--minutes", "2"], stdout=subprocess.DEVNULL)
        time.sleep(float(draw.uniform(5, 20)))
        process.send_signal(number)
        process.wait()
        if (folder / "store.tar.gz").exists():  # the machine is gone; all that travels is in files
            shutil.rmtree(folder / "store")
    for _ in range(6):
        subprocess.run([*begun, "--folder", str(folder), "--minutes", "2"], check=True, stdout=subprocess.DEVNULL)
        if all(status == "done" for status, _ in states(tmp_path).values()):
            break
    assert states(tmp_path) == {"relu": ("done", 1), "tanh": ("done", 1)}
    undisturbed, words = Store(tmp_path / "undisturbed"), (*words, "activation=relu,tanh")
    trained(undisturbed, *words)
    assert all_kept(Store(folder / "store"), runs_of(*words)) == all_kept(undisturbed, runs_of(*words))
