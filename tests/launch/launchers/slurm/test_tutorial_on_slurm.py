"""The tutorial about Slurm, typed on a real one: checked, submitted, cancelled, resumed and read."""

import pytest

from plasticity_lab.records.store import Store
from tests.docs.tutorials import FOLDER, script_of, typed_script
from tests.helpers.sweeps import wait_until

pytestmark = [pytest.mark.slurm, pytest.mark.slow]


def test_it_runs_as_written(slurm, tmp_path):
    text = (FOLDER / "slurm_sweep.md").read_text()
    before, heading, after = text.partition("\n## Read\n")
    assert heading
    ended = typed_script(script_of(before, ("bash", "sh")), tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "fails" not in ended.stdout
    store = Store(tmp_path / "home" / "on_slurm")
    wait_until(lambda: len([*store.runs_folder.rglob("record.json")]) == 6)
    first = "export PLASTICITY_STORE=$HOME/on_slurm\n"
    read = typed_script(first + script_of(after, ("bash", "sh")), tmp_path)
    assert read.returncode == 0, read.stdout + read.stderr
    assert "relu" in read.stdout
    assert len([*store.root.glob("sweeps/*/jobs/*")]) == 2, "submitted, and resumed"
