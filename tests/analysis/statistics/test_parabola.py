"""A parabola through points: exact ones, one by hand, and how often its interval holds the truth."""

import numpy as np
import pytest

from analysis.statistics.relations import parabola


def test_points_of_a_parabola_give_it_back():
    x = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
    found = parabola(x, 3 + 4 * x - 2 * x**2)
    assert (found.curvature, found.vertex) == (pytest.approx(-2), pytest.approx(1))
    assert found.peaks


def test_by_hand():
    """y = 0.7 + 0.1 x − 0.5 x², with the residuals −0.1, 0.3, −0.3 and 0.1."""
    found = parabola([-1, 0, 1, 2], [0, 1, 0, -1])
    assert found.curvature == pytest.approx(-0.5)
    assert found.vertex == pytest.approx(0.1)
    assert found.low < -0.5 < found.high
    assert not found.peaks, "one degree of freedom tells nothing"


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [([1, 1, 2, 2], [0, 1, 2, 3], "three different x"), ([0, 1, 2], [0, 1, 2], "four points"),
     ([0, 1, 2, np.inf], [0, 1, 2, 3], "finite")],
)  # fmt: skip
def test_what_cannot_be_fitted_is_said(x, y, reason):
    assert reason in parabola(x, y).reason


def test_the_interval_of_the_curvature_holds_the_truth_as_often_as_it_says():
    draw = np.random.default_rng(0)
    x = np.repeat([0.1, 0.4, 0.7, 1.0, 1.3], 3)
    held = [
        found.low <= -3 <= found.high
        for found in (parabola(x, 1 + x - 3 * x**2 + draw.normal(0, 0.5, len(x))) for _ in range(1000))
    ]
    assert 0.93 < np.mean(held) < 0.97
