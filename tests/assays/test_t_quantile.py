"""The factor of t intervals without SciPy, compared with SciPy's, which the laboratory uses."""

import builtins

import pytest
from scipy.stats import t

from plasticity_lab.assays.t_quantile import t_factor


@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_it_is_scipys(confidence, monkeypatch):
    scipys = {degrees: t.ppf((1 + confidence) / 2, degrees) for degrees in (*range(1, 40), 199)}
    assert {degrees: t_factor(confidence, degrees) for degrees in scipys} == scipys
    real = builtins.__import__

    def without_scipy(name, *more, **named):
        if name.startswith("scipy"):
            raise ModuleNotFoundError(name)
        return real(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", without_scipy)
    assert {degrees: t_factor(confidence, degrees) for degrees in scipys} == pytest.approx(scipys, rel=1e-13)
