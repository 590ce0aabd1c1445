"""`launch assay` on a real Slurm: the results of this machine, added when the command is given again."""

import pytest

from launch.__main__ import main
from plasticity_lab.records.record import read_metrics
from plasticity_lab.records.store import Store
from tests.assays.test_equation import SHORT
from tests.helpers.sweeps import trained, wait_until

pytestmark = [pytest.mark.slurm, pytest.mark.slow]
ON_SLURM = ("hydra/launcher=packed_slurm", "hydra.launcher.partition=cpu", "launch.workers=1")


def test_its_results_are_those_of_this_machine(slurm, store, tmp_path, capfd):
    here = Store(tmp_path / "here")
    words = ("seed=0,1", "save_weights=tasks", "benchmark.steps=20")
    runs = list(trained(store, *words).runs)
    trained(here, *words)
    asked = ("assay", "assay=fresh_labels", *SHORT, "mode=eager", "device=cpu")
    assert main([*asked, "--store", str(here.root), "launch.workers=1"]) == 0
    assert main([*asked, "--store", str(store.root), *ON_SLURM]) == 0
    assert "the same command again adds the results" in capfd.readouterr().err
    wait_until(lambda: len(list(store.assays.runs_folder.glob("*/*/record.json"))) == 2)
    assert main([*asked, "--store", str(store.root), *ON_SLURM]) == 0
    for run in runs:
        assert read_metrics(store, run).equals(read_metrics(here, run))
