"""The flags of plasticity_lab.main, and words about Hydra itself. `test_bad_input` has those that are refused."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launch.command import run_command
from launch.launchers import local
from launch.runs.options import CONF

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    monkeypatch.delenv("COMP_LINE", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.walk(3)
@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("--cfg job --resolve", "precision: fp32"),
        ("--cfg job --package optimizer", "# @package optimizer"),
        ("--cfg hydra", "hydra:"),
        ("--info searchpath", str(CONF)),
        ("--info plugins", "PackedSlurm"),
        ("--hydra-help", "hydra/launcher"),
        ("--help --resolve", "precision: fp32"),
        ("--help hydra.help.template=$HYDRA_CONFIG_GROUPS", "hydra/launcher: basic"),
    ],
)
def test_flags_that_show_something_show_it(words, shown, capsys):
    assert run_command(words.split()) == 0
    assert shown in capsys.readouterr().out


@pytest.mark.sample(1)
def test_what_hydra_itself_heeds_is_taken(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(local, "train_here", lambda runs, settings, of=None: calls.append(runs))
    monkeypatch.setattr(local, "say_how_jobs_ended", lambda runs, settings: None)
    (tmp_path / "activation").mkdir()
    shutil.copy(CONF / "activation/tanh.yaml", tmp_path / "activation/mine.yaml")
    both = [
        "activation=mine",
        "hydra/launcher=basic",
        f"store={tmp_path}/jobs/store",
        f"hydra.sweep.dir={tmp_path}/jobs",
        "hydra.job.chdir=true",
    ]
    for words in (both, ["activation=mine", "hydra.verbose=false", "hydra/hydra_logging=none"]):
        assert run_command(["--config-dir", str(tmp_path), *words]) == 0
    ours, theirs = calls
    assert ours == theirs
    assert ours[0].science["activation"]["name"] == "mine"


COMPLETED = [
    ("benchm", "benchmark= benchmark."),
    ("benchmark=permuted_m", "permuted_mnist permuted_mnist_20"),
    ("activation=leaky_relu activation.neg", "activation.negative_slope="),
    ("'activation=glob(*)' experiment=tableE2_ci", "tableE2_cifar51"),
]


@pytest.mark.sample(1)
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not on this machine")
def test_bash_completes_groups_options_and_settings():
    """As bash calls the function: = parts words there, so that what stands behind the last one is completed."""
    install = [sys.executable, "-m", "plasticity_lab.main", "--shell-completion", "install=bash"]
    script = subprocess.run(install, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    calls = []
    for typed, _ in COMPLETED:
        line = f"{sys.executable} -m plasticity_lab.main {typed}"
        calls += [f'COMP_LINE="{line}"; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({sys.executable}); COMPREPLY=()']
        calls += ["_plasticity_lab", 'echo "${COMPREPLY[*]}"']
    calls = ['COMP_WORDBREAKS=" =:"', *calls]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COMP_")}
    found = subprocess.run(
        ["bash", "-c", "\n".join([script, *calls])], cwd=ROOT, capture_output=True, text=True, env=environment
    )
    assert [set(line.split()) for line in found.stdout.splitlines()] == [set(said.split()) for _, said in COMPLETED]
