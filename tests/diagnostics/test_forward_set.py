"""What is measured by a forward pass, against closed forms and numbers worked out by hand."""

from math import e, exp, sqrt

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm

from plasticity_lab.activations.activation import Site
from plasticity_lab.diagnostics.derivatives import derivatives, elementwise, slopes
from plasticity_lab.diagnostics.diagnostic import interval
from plasticity_lab.diagnostics.dormant_units import DormantUnits
from plasticity_lab.diagnostics.duplicate_units import DuplicateUnits
from plasticity_lab.diagnostics.feature_rank import FeatureRank, effective_rank, srank, stable_rank
from plasticity_lab.diagnostics.learned_slopes import LearnedSlopes
from plasticity_lab.diagnostics.negative_slope import NegativeSlope
from plasticity_lab.diagnostics.preactivations import Preactivations
from plasticity_lab.diagnostics.saturated import Saturated
from plasticity_lab.diagnostics.view import View
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.cnn import CNN
from tests.helpers.networks import classifier
from tests.helpers.packs import choices
from tests.helpers.shown import built, seen, view_given, view_of

# Units: sizes 4, 0.3, 2 and 0 on average, of which the mean is 1.575.
BEFORE = [[4.0, 0.1, 2.0, 0.0], [4.0, 0.5, -2.0, 0.0], [-4.0, 0.1, 2.0, 0.0], [4.0, 0.5, 2.0, 0.0]]


def test_a_unit_is_dormant_by_its_share_of_the_layers_mean():
    view = view_given(BEFORE, "leaky_relu", negative_slope=1.0)
    share = 0.3 / 1.575
    for tau, dormant in ((share * 1.001, 2), (share * 0.999, 1), (0.0, 1)):
        found = seen(DormantUnits(tau=tau), view)
        assert found["dormant_units_hidden1"] == found["dormant_units"] == dormant / 4
    silent = seen(DormantUnits(), view_given([[-1.0] * 4] * 4, "relu"))
    assert silent["dormant_units"] == 1, "where nothing is active all are dormant"


def test_the_size_of_a_unit_that_passes_on_several_values_is_their_mean():
    """CReLU's two units give 3 and 0, and 0.4 and 0.4, of which the means are 1.5 and 0.4, and that of both 0.95."""
    unit = view_given(BEFORE, "crelu").units[0]
    h = torch.tensor([[3.0, 0.4, 0.0, 0.4]] * 4)
    for tau, dormant in ((0.43, [False, True]), (0.41, [False, False])):
        assert DormantUnits(tau=tau).marked(h, unit).tolist() == dormant


def test_duplicates_are_the_units_that_point_where_an_earlier_one_does():
    rows = [[1.0, 3.0, -1.0, 0.0], [2.0, 6.0, -2.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, 3.0, -1.0, 0.0]]
    linear = {"name": "leaky_relu", "negative_slope": 1.0}
    assert seen(DuplicateUnits(), view_given(rows, **linear))["duplicate_units_hidden1"] == 1 / 4, "not the opposite"
    rows[2][1] = 1.0  # the cosine becomes √54 / √55
    cosine = sqrt(54 / 55)
    for similarity, found in ((cosine - 1e-5, 1 / 4), (cosine + 1e-5, 0)):
        measured = seen(DuplicateUnits(similarity=similarity), view_given(rows, **linear))
        assert measured["duplicate_units_hidden1"] == found


FLAT_BELOW = {  # φ′ < 1e-3 from here on, below zero
    "sigmoid": -6.9058, "tanh": -4.1469, "elu": -6.9078, "swish": -8.98, "gelu": -3.8143,
}  # fmt: skip


@pytest.mark.parametrize(("name", "bound"), FLAT_BELOW.items())
def test_saturated_are_the_pairs_with_a_flat_derivative(name, bound):
    """The bounds are those of the dead bands on [−100, 100], of which half, or a one-sided one, lies below zero."""
    before = [[bound + 0.02, bound - 0.02, 0.5, -100.0]] * 4
    assert seen(Saturated(), view_given(before, name))["saturated_hidden1"] == 2 / 4


def test_saturation_of_units_with_several_values_and_of_gates():
    assert seen(Saturated(), view_given(BEFORE, "deep_fourier"))["saturated"] == 0
    view = view_given([[0.0, 1.0, -1.0, 2.0]] * 4, "crelu")  # of which hidden1 has units for the first two
    assert seen(Saturated(), view)["saturated_hidden1"] == 1 / 2, "at 0 both halves are flat"


@pytest.mark.parametrize("name", choices("activation"))
def test_derivatives_are_differences(name):
    activation, draw = built(name), torch.Generator().manual_seed(0)
    z = torch.randn(1, 8, 4, generator=draw, dtype=torch.float64)
    shape = {key: torch.tensor([value], dtype=torch.float64) for key, value in activation.on_run_axis().items()}
    learned = {key: torch.tensor([list(value.start)], dtype=torch.float64)
               for key, value in activation.learnable(4).items()}  # fmt: skip
    found = derivatives(activation, z, Site(shape, learned))
    for unit in range(4):
        step = torch.zeros_like(z)
        step[..., unit] = 1e-6
        change = activation(z + step, Site(shape, learned)) - activation(z - step, Site(shape, learned))
        sums = torch.stack([own.sum(dim=2) for own in change.chunk(len(found), dim=2)]) / 2e-6
        assert torch.allclose(found[..., unit], sums, rtol=1e-4, atol=1e-7)


LAWS = {
    ("leaky_relu", "negative_slope", 0.3): (0.3, 0.3),
    ("elu", "alpha", 3.9): (3.9 * exp(0.5) * 2 * norm.cdf(-1), 3.9 * (1 - exp(-3)) / 3),
    ("relu", None, None): (0, 0),
}


@pytest.mark.parametrize("of", LAWS)
def test_the_effective_slope_under_stated_laws(of):
    name, setting, value = of
    found = seen(NegativeSlope(), view_given(BEFORE, name, **({setting: value} if setting else {})))
    assert [found["slope_half_normal"], found["slope_uniform"]] == pytest.approx(LAWS[of], rel=1e-6)
    if name == "elu":
        assert round(seen(NegativeSlope(span=10.0), view_given(BEFORE, name, alpha=3.9))["slope_uniform"], 2) == 0.39


@pytest.mark.parametrize("name", [name for name in choices("activation") if elementwise(built(name))])
def test_on_gaussian_pre_activations_the_probes_slope_is_the_integral(name):
    activation = built(name)
    levels = norm.ppf((np.arange(4096) + 0.5) / 4096).reshape(-1, 4)
    found = seen(NegativeSlope(), view_given(levels.tolist(), name))
    assert found["slope_probe_hidden1"] == pytest.approx(found["slope_half_normal"], rel=5e-3, abs=1e-4)
    shape = {key: torch.tensor([value], dtype=torch.float64) for key, value in activation.on_run_axis().items()}
    learned = {key: torch.tensor([list(value.start)], dtype=torch.float64)
               for key, value in activation.learnable(1).items()}  # fmt: skip

    def at(z):
        return derivatives(activation, torch.full((1, 1, 1), z, dtype=torch.float64), Site(shape, learned)).item()

    integral = quad(lambda z: 2 * norm.pdf(z) * at(z), -12, 0, epsabs=1e-9)[0]
    assert found["slope_half_normal"] == pytest.approx(integral, rel=1e-5, abs=1e-8)


def test_no_slope_where_there_is_none_and_none_of_the_probe_where_nothing_is_negative():
    names = {name for name in choices("activation") if not elementwise(built(name))}
    assert names == {"crelu", "deep_fourier", "hadamard", "swiglu"}
    model = classifier(CNN(channels=4, width=4, kernel=3, padding="same"), [built("crelu")], (1, 8, 8), 2)
    assert not NegativeSlope().applies_to(model)
    found = seen(NegativeSlope(), view_given([[1.0] * 4] * 4, "relu"))
    assert np.isnan(found["slope_probe"])
    assert found["slope_half_normal"] == 0


def test_learned_slopes_are_the_means_of_the_laws_unit_by_unit():
    view = view_given(BEFORE, "prelu", scope="neuron")
    view.parameters["hidden1.activation.slope"][0] = torch.tensor([0.0, 0.1, 0.2, 0.5])
    assert seen(NegativeSlope(), view)["slope_half_normal"] == pytest.approx((0.2 + 0.25) / 2)
    found = seen(LearnedSlopes(), view)
    quantiles = [found[f"slope_{part}_hidden1"] for part in ("min", "q25", "median", "q75", "max")]
    assert quantiles == pytest.approx([0, 0.075, 0.15, 0.275, 0.5])
    assert (found["slope_min"], found["slope_median"], found["slope_max"]) == pytest.approx((0, 0.25, 0.5))
    one = view_given(BEFORE, "bo_prelu", scope="global", alpha_init=0.25)
    assert seen(LearnedSlopes(), one)["slope_median"] == pytest.approx(0.25, rel=1e-5)
    assert not LearnedSlopes().applies_to(view_given(BEFORE, "leaky_relu").model)


def test_ranks_of_known_spectra():
    alike = torch.ones(5, dtype=torch.float64)
    assert [of.item() for of in (effective_rank(alike), stable_rank(alike), srank(alike, 0.01))] == pytest.approx(
        [5, 5, 5]
    )
    halves = torch.tensor([0.5, 0.25, 0.25, 0.0], dtype=torch.float64)
    assert effective_rank(halves).item() == pytest.approx(e ** (1.5 * np.log(2)))
    assert stable_rank(halves).item() == pytest.approx(1.5)
    assert [srank(halves, delta).item() for delta in (0.01, 0.25, 0.3, 0.5)] == [3, 2, 2, 1]
    found = seen(FeatureRank(), view_given((3 * torch.eye(4)).tolist(), "relu"))
    assert list(found.values()) == pytest.approx([4, 4, 4])
    assert list(seen(FeatureRank(), view_given([[-1.0] * 4] * 4, "relu")).values()) == [0, 0, 0]
    broken = seen(FeatureRank(), view_given([[float("nan")] * 4] * 4, "relu"))
    assert np.isnan(list(broken.values())).all()


def test_a_shift_is_counted_in_the_first_deviations():
    diagnostic = Preactivations()
    first = view_given([[1.0, 0.0, 0.0, 2.0], [3.0, 0.0, 4.0, 2.0]] * 2, "leaky_relu", negative_slope=1.0)
    state = diagnostic.start(first)
    moved = [[2.0, 0.0, 3.0, 2.0], [4.0, 0.0, 7.0, 2.0]] * 2
    later = view_given(moved, "leaky_relu", negative_slope=1.0)
    found = {key: value.item() for key, value in diagnostic.look(View(**{**vars(later), "state": state})).items()}
    assert found["preactivation_mean_hidden1"] == pytest.approx((3 + 0 + 5 + 2) / 4)
    assert found["preactivation_deviation_hidden1"] == pytest.approx((1 + 0 + 2 + 0) / 4)
    assert found["preactivation_shift_hidden1"] == pytest.approx((1 / 1 + 0 + 3 / 2 + 0) / 4)


def test_channels_are_units_and_their_pixels_pairs():
    activations = [built("relu")]
    model = classifier(CNN(channels=4, width=4, kernel=3, padding="same"), activations, (1, 4, 4), 2)
    parameters = {key: torch.zeros_like(value) for key, value in model.start([0], torch.device("cpu")).items()}
    first = model.units[0]
    parameters[f"{first.incoming}.bias"].flatten()[:2] = 1.0
    view = view_of(model, parameters, torch.zeros(1, 4, 16), activations)
    assert seen(Saturated(), view)[f"saturated_{first.name}"] == 2 / 4
    assert seen(DuplicateUnits(), view)[f"duplicate_units_{first.name}"] == 1 / 4
    assert seen(DormantUnits(), view)[f"dormant_units_{first.name}"] == 2 / 4
    assert slopes(view)[first.name][0].pairs == 4 * 4 * 16


@pytest.mark.parametrize(("said", "meant"), [("task", "task"), ("epoch", 1), (1, 1), (7, 7)])
def test_when_it_looks(said, meant):
    assert interval(said) == meant
    assert Saturated(every=said).due(None)
    assert Saturated(every=said).due(6) == (meant in (1, 7))
    assert not Saturated(every="task").due(0)


@pytest.mark.parametrize("wrong", [0, -1, "often", ""])
def test_when_it_cannot_look(wrong):
    with pytest.raises(ConfigError, match=r"diagnostics\.every"):
        interval(wrong)
