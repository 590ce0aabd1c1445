"""The recipe for a group, followed in a copy of the repository: what the page says, and nothing else."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launch.command import resolve
from tests.docs.pages import ROOT, fences, files_of

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs/pages/how_to/add/group.md"
FOLDERS = ("plasticity_lab", "launch", "analysis", "conf", "tests/helpers", "tests/tenants", "tests/agents/ppo")
WORDS = ("schedule=smoke", "benchmark=permuted_digits", "device=cpu", "tracking=store")
FOLLOWED = """
import json, sys
sys.path.insert(0, "")
from hydra import compose, initialize_config_dir
from analysis.rows import _settings_of
from launch.command import resolve
from launch.runs.files import CONF
from launch.runs.overrides import overrides_of, run_from
from launch.tracking.wandb.content import tags
from launch.tracking.wandb.naming import run_name
from plasticity_lab.errors import ConfigError
from tests.tenants.packs import differing, packs_of, trained

def said(*words):
    try:
        return resolve([*WORDS, *words]).runs
    except ConfigError as error:
        return str(error)

ANNEALED = ("benchmark=permuted_digits", "agent=annealed", "annealing=geometric", "network.width=16")
sweep = packs_of(*ANNEALED, "annealing.factor=0.1,0.9", "seed=0,1")
packed = trained(sweep)
resolved = resolve([*WORDS, "annealing=none,geometric", "annealing.factor=0.5"][:-1])
plain, annealed = resolved.runs
with initialize_config_dir(str(CONF), version_base="1.3"):
    config = compose("config", overrides_of(annealed, resolved.settings), return_hydra_config=True)
again, _ = run_from(config, config.hydra.runtime.choices)
told = {"run": annealed.id, "science": annealed.science, "asked_as": annealed.asked_as}
old = {group: of for group, of in plain.science.items() if group != "annealing"}
print(json.dumps({
    "plain": plain.id,
    "annealed": [annealed.id, annealed.science["annealing"], annealed.targets["annealing"]],
    "again": [again.id, again.science == annealed.science],
    "named": run_name(told), "tags": tags(told),
    "differing": [differing(trained(sweep[at:at + 1])[0], packed[at]) for at in (1, 2)],
    "weights": len({run["output.weight"] for run in packed}),
    "replicates": _settings_of(old, {}) == _settings_of(plain.science, {}),
    "misspelt": said("annealing=geometrik"),
    "out of range": said("annealing=geometric", "annealing.factor=2"),
    "no such setting": said("annealing=geometric", "annealing.facter=1"),
    "a list": said("annealing=[geometric,none]"),
}))
"""


@pytest.fixture
def copy(tmp_path):
    """A copy of the repository with the group of the page in it."""
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "measured"))
    for name, content in files_of(PAGE).items():
        if name.startswith(("at ", "among ")):
            continue
        path = tmp_path / name
        assert not path.exists(), "the page makes new files, and edits none but those it says"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    with (tmp_path / "conf/groups.yaml").open("a") as file:
        file.write(shown("at the end of conf/groups.yaml"))
    config = tmp_path / "conf/config.yaml"
    text, choice = config.read_text(), shown("among the defaults of conf/config.yaml")
    config.write_text(text.replace("  - _self_\n", f"{choice}  - _self_\n", 1))
    return tmp_path


def shown(title: str) -> str:
    """What the page shows under a block's first line."""
    (found,) = (content for _, content in fences(PAGE.read_text()) if content.startswith(f"# {title}\n"))
    return found.partition("\n")[2]


def followed(folder: Path, code: str) -> subprocess.CompletedProcess:
    """Runs code in the copy."""
    code = code.replace("WORDS", repr(list(WORDS)))
    environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)


def test_a_group_moves_in_by_what_the_page_says(copy):
    ended = followed(copy, FOLLOWED)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    (ours,) = resolve([*WORDS]).runs
    assert found["plain"] == ours.id, "the neutral option changes no id"
    identity, settings, target = found["annealed"]
    assert (identity == ours.id, settings) == (False, {"name": "geometric", "factor": 0.9})
    assert target == "plasticity_lab.annealing.annealing.Geometric"
    assert found["again"] == [identity, True], "by way of Hydra's own launchers"
    assert ("geometric" in found["named"], "geometric" in found["tags"]) == (True, True)
    assert (found["differing"], found["weights"]) == ([[], []], 4)
    assert found["replicates"]
    assert "did you mean geometric?" in found["misspelt"]
    assert "annealing.factor is 2.0; it must be above 0 and at most 1" in found["out of range"]
    assert "annealing=geometric has no setting 'facter'" in found["no such setting"]
    assert "annealing=one,other" in found["a list"]


def test_a_group_that_is_not_chosen_is_a_sentence(copy):
    config = copy / "conf/config.yaml"
    config.write_text(config.read_text().replace(shown("among the defaults of conf/config.yaml"), ""))
    ended = followed(copy, "import sys; from launch.command import run_command; sys.exit(run_command(WORDS))")
    assert ended.returncode == 1
    assert "config.yaml chooses no annealing" in ended.stderr
    assert ended.stderr.count("\n") == 1
