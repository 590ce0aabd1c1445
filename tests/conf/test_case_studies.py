"""The presets of the case studies, trained on embedded digits, and their figures drawn from what is left."""

import pytest

from analysis.__main__ import main
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import trained

SHORT = ("benchmark=split_digits", "network=mlp", "seed=0")
SHOCKED = ("perturbation.cycle=3", "benchmark.epochs=6", "benchmark.images_per_class=20", "hyperparams=default")
SLOPES = {
    "figure1": ["1", "C1"],
    "figureC1": ["C1"],
    "figureC2": ["C2"],
    "figureC3": ["C3"],
    "goldilocks_reduced": ["1", "C1"],
}
SHOCKS = ("figure2", "figure3", "figure4", "figureD1")


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOPES)
def test_a_preset_of_slopes_trains_and_is_drawn(name, tmp_path, capsys):
    store = Store(tmp_path / "store")
    trained(store, f"experiment={name}", *SHORT)
    for figure in SLOPES[name]:
        assert main(["figure", figure, "--store", str(store.root)]) == 0, capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SHOCKS, "shocks_reduced"])
def test_a_preset_of_shocks_trains_and_is_drawn(name, tmp_path, capsys):
    store = Store(tmp_path / "store")
    trained(store, f"experiment={name}", *SHORT, *SHOCKED)
    for figure in ("2", "3", "4", "D1", "figure2_derived"):
        assert main(["figure", figure, "--store", str(store.root)]) == 0, capsys.readouterr().err
