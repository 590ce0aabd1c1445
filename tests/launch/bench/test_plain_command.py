"""The command that the plain scripts of agents on bodies share."""

import json
import subprocess
import sys

import pytest

from launch.bench import plain_ppo, plain_sac

pytestmark = pytest.mark.sample(1)


@pytest.mark.parametrize(
    ("script", "at_once"), [("plain_ppo", plain_ppo.ROLLOUT), ("plain_sac", plain_sac.STEPS_OF_A_BURST)]
)
def test_it_leaves_the_runs_episodes(script, at_once, tmp_path):
    command = [sys.executable, "-m", f"launch.bench.{script}", "--body", "Hopper-v5", "--steps", "1", "--out", tmp_path]
    subprocess.run(command, check=True, capture_output=True)
    run = json.loads((tmp_path / "Hopper-v5_0.json").read_text())
    assert run["steps"] == at_once
    assert sum(length for *_, length in run["episodes"]) <= run["steps"]
