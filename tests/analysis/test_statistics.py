import math

import numpy as np
import pytest
import scipy.special

from analysis.statistics import mean_sd, welch


def test_mean_and_sample_sd_by_hand():
    found = mean_sd([0.7, 0.8, 0.9])
    assert found.mean == pytest.approx(0.8)
    assert found.sd == pytest.approx(0.1)  # ((0.1² + 0 + 0.1²) / 2)^½
    assert found.n == 3


def test_equal_values_have_no_spread_and_one_value_has_no_sd():
    assert mean_sd([0.1, 0.1, 0.1]).sd == 0.0
    assert mean_sd([0.1]).sd is None
    assert mean_sd([]) is None


def test_welch_against_the_closed_form():
    a, b = [1.0, 2.0, 3.0, 6.0], [4.0, 8.0, 9.0]
    # t = (ā − b̄) / √(s²a/n + s²b/m), Welch–Satterthwaite degrees of freedom, p by the incomplete beta function.
    of_a, of_b = np.var(a, ddof=1) / 4, np.var(b, ddof=1) / 3
    t = (3.0 - 7.0) / math.sqrt(of_a + of_b)
    freedom = (of_a + of_b) ** 2 / (of_a**2 / 3 + of_b**2 / 2)
    p = scipy.special.betainc(freedom / 2, 0.5, freedom / (freedom + t * t))
    found = welch(a, b)
    assert found.t == pytest.approx(t)
    assert found.p == pytest.approx(p)
    assert found.n == (4, 3)
    assert found.reason is None


def five(mean, sd):
    """Five values with exactly this mean and SD."""
    return mean + sd * np.array([-1.0, -1.0, 0.0, 1.0, 1.0])


def test_welch_agrees_with_what_the_paper_calls_significant():
    # Rand. Smooth-Leaky against Smooth-Leaky on CIFAR 5+1 (Table 2), and against Bo-PReLU on Random Label CIFAR (G2).
    assert welch(five(57.01, 1.59), five(49.87, 1.67)).significant(0.05)
    assert not welch(five(98.42, 0.01), five(98.41, 0.01)).significant(0.05)


@pytest.mark.parametrize(
    ("ours", "theirs", "reason"),
    [([0.5], [0.2, 0.3], "fewer than two"), ([0.1] * 3, [0.2] * 3, "no variance")],
)
def test_where_the_test_says_nothing_it_says_why(ours, theirs, reason):
    found = welch(ours, theirs)
    assert found.t is None
    assert found.p is None
    assert reason in found.reason
    assert not found.significant(0.05)


def test_one_constant_group_still_has_a_p():
    assert 0 < welch([0.1, 0.1, 0.1], [0.2, 0.3, 0.25]).p < 0.05
