"""Figures 1, C1, C2 and C3 on runs trained here at the smoke schedule."""

import pytest

from analysis.figures.drawing import Asked
from analysis.figures.named import FIGURES
from analysis.frames import metrics_of
from analysis.rows import rows_in
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import trained

pytestmark = pytest.mark.sample(1)

SPLIT = ("benchmark=split_digits", "diagnostics=case_studies", "seed=0,1")


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("slopes") / "store")
    trained(store, *SPLIT, "activation=leaky_relu", "activation.negative_slope=0.01,0.5,1.0,1.5")
    trained(store, *SPLIT, "activation=elu", "activation.alpha=0.5,4")
    trained(store, *SPLIT, "activation=prelu", "activation.scope=global,layer,neuron")
    found, _ = rows_in(store.root)
    return Asked(found, lambda runs: metrics_of([store.root], found, runs)), store


def test_figure_1_has_every_setting_at_its_slope_under_each_law(asked):
    drawing = FIGURES["figure1"](asked[0])
    by_title = {(panel.title, panel.x_label): panel for panel in drawing.panels}
    assert len(by_title) == 3 * 4, "laws, and accuracy, dead pairs, rank, curvature"
    panel = by_title["Dead pairs", "s̄ (half-normal)"]
    leaky, elu = (next(each for each in panel.series if each.label == name) for name in ("Leaky-ReLU", "eLU"))
    assert leaky.x == pytest.approx([0.01, 0.5, 1.0, 1.5])
    assert elu.x == pytest.approx([0.5 * 0.5231, 4 * 0.5231], abs=1e-3), "α E[e^z | z < 0] = α e^½ erfc(1/√2)"
    assert leaky.n == [2] * 4
    assert {each.label for each in panel.series} >= {"PReLU (global)", "PReLU (layer)", "PReLU (neuron)"}
    said = "\n".join(drawing.caption)
    assert "Leaky-ReLU, parabola of ACC over s̄ (half-normal), 8 runs" in said
    assert f"about 45 % dead units as s̄ → 0; here {leaky.y[0]:.1f} % at the least slope, 0.010" in said, "of both seeds"


def test_figure_c1_has_a_point_for_each_run(asked):
    drawing = FIGURES["figureC1"](asked[0])
    dead, norms = drawing.panels
    assert sum(len(series.x) for series in dead.series) == sum(len(series.x) for series in norms.series) == 18
    said = "\n".join(drawing.caption)
    assert "Figure C1" not in said
    assert "over 18 runs" in said
    assert "the paper's r = -0.51" in said
    assert "accuracy 27 to 33 % with 0 to 8 % of units dead" in said


def test_figures_c2_and_c3_have_the_course_of_learned_slopes(asked):
    of_neurons, of_others = (FIGURES[name](asked[0]) for name in ("figureC2", "figureC3"))
    assert [panel.title for panel in of_neurons.panels] == [
        "PReLU (neuron), hidden1", "PReLU (neuron), hidden2", "PReLU (neuron): slopes below ε",
    ]  # fmt: skip
    assert {panel.title for panel in of_others.panels} == {
        "PReLU (global)", "PReLU (layer), hidden1", "PReLU (layer), hidden2",
    }  # fmt: skip
    greatest, median, least = of_neurons.panels[0].series
    assert all(low <= middle <= high for low, middle, high in zip(least.y, median.y, greatest.y, strict=True))
    assert all(low <= middle <= high for (low, high), middle in zip(median.y_range, median.y, strict=True))
    assert any("0.001: that is ε" in line for line in of_neurons.caption)
