"""Kron by hand, and beside the formulas of its source in float64."""

import numpy as np
import pytest
import torch

from plasticity_lab.activations.relu import ReLU
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.randomness.device import uniforms
from plasticity_lab.stacking import kron
from plasticity_lab.stacking.kron import Kron, due_steps
from plasticity_lab.stacking.kronecker import balanced, changed, preconditioned
from plasticity_lab.stacking.triangular import inverse, lower_bound
from plasticity_lab.stacking.update_rule import RuleInputs, noise
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU
from tests.stacking.test_update_rules import KEYS, Stepped

RATE = torch.tensor([0.1])


def test_diagonal_factors_by_hand():
    """x² − v² is 8, −3; x² + v² is 10, 5, the largest 10: 1 − 0.1 · 0.8 and 1 + 0.1 · 0.3."""
    (found,) = changed([torch.ones(1, 2)], torch.tensor([[[3.0, 1.0]]]), torch.tensor([[[1.0, 2.0]]]), RATE)
    np.testing.assert_allclose(found, [[0.92, 1.03]], rtol=1e-6)
    moved = preconditioned([found], torch.tensor([[[1.0, 2.0]]]))
    np.testing.assert_allclose(moved, [[[0.92**2, 2 * 1.03**2]]], rtol=1e-6)


def test_triangular_factors_by_hand():
    """R = C = I, x = (0, 2; 0, 0), v = (1, 0; 0, 0): xxᵀ − vvᵀ = diag(3, 0), the sum diag(5, 0); columns: xᵀx − vᵀv =
    diag(−1, 4), the sum diag(1, 4). Norms are 5 and 4.
    """
    eye, x, v = torch.eye(2).unsqueeze(0), torch.tensor([[[0.0, 2.0], [0.0, 0.0]]]), torch.zeros(1, 2, 2)
    v[0, 0, 0] = 1
    rows, columns = changed([eye, eye], x, v, RATE)
    np.testing.assert_allclose(rows, [np.diag([1 - 0.1 * 3 / 5, 1])], rtol=1e-6)
    np.testing.assert_allclose(columns, [np.diag([1 + 0.1 / 4, 1 - 0.1])], rtol=1e-6)
    moved = preconditioned([rows, columns], x)
    np.testing.assert_allclose(moved, [[[0, 2 * 0.94**2 * 0.9**2], [0, 0]]], rtol=1e-6)
    even = balanced([4 * rows, columns])
    assert even[0].abs().max() == even[1].abs().max()
    torch.testing.assert_close(preconditioned(even, x), 16 * moved)


@pytest.mark.parametrize("size", [1, 2, 13, 17, 40, 100])
def test_an_inverse_is_exact_and_has_the_same_bits_at_every_place(size):
    draw = torch.Generator().manual_seed(size)
    upper = torch.triu(torch.randn(3, size, size, generator=draw)) / size + torch.eye(size)
    found = inverse(upper)
    torch.testing.assert_close(found.double() @ upper.double(), torch.eye(size).double().expand(3, -1, -1),
                               rtol=0, atol=1e-6)  # fmt: skip
    symmetric = upper @ upper.mT
    bound = lower_bound(symmetric, symmetric.abs().amax((1, 2)))
    share = bound / torch.linalg.matrix_norm(symmetric, 2)
    assert ((share < 1.0001) & (share > 0.5)).all()
    for at in range(3):
        assert torch.equal(inverse(upper[at : at + 1])[0], found[at])
        assert torch.equal(lower_bound(symmetric[at : at + 1], symmetric[at : at + 1].abs().amax((1, 2)))[0], bound[at])


def test_factors_change_often_at_first_and_then_in_a_period():
    every = due_steps(0.03, 1, 6000)
    assert every[:501].all(), "1 / exp(−0.001 · 0) is 1"
    assert every[501:505].tolist() == [False, True, False, True], "1.001 is more than one step"
    changes = np.flatnonzero(every) + 1
    gaps = np.diff(changes)
    assert (np.diff(gaps) >= 0).all()
    assert set(gaps[changes[1:] > 4100]) == {34}, "the first whole number above 1 / 0.03"
    assert np.concatenate([due_steps(0.03, 1, 700), due_steps(0.03, 701, 5300)]).tolist() == every.tolist()
    assert due_steps(1.0, 10**6, 3).all()


class Twin:
    """One run's parameters in float64, (O, I) for matrices, as in the source."""

    def __init__(self, own: Kron, parameters) -> None:
        self.own, self.parameters = own, parameters
        self.momenta = {name: np.zeros_like(value) for name, value in parameters.items()}
        self.factors = {
            name: [np.ones(len(value))] if value.ndim == 1 else [np.eye(size) for size in value.shape]
            for name, value in parameters.items()
        }

    def take(self, t, gradients, drawn, is_balanced) -> None:
        own = self.own
        for name, value in self.parameters.items():
            momentum, factors, v = self.momenta[name], self.factors[name], drawn[name]
            momentum += (gradients[name] - momentum) * (1 - own.momentum)
            g = momentum / (1 - own.momentum**t)
            if is_balanced and value.ndim == 2:
                norms = [np.abs(factor).max() for factor in factors]
                for factor, norm in zip(factors, norms, strict=True):
                    factor *= np.sqrt(norms[0] * norms[1]) / norm
            g = g + kron.DAMPING * np.abs(g).mean() * v
            self.factors[name] = factors = list(self.changed(factors, g, v))
            if value.ndim == 1:
                step = factors[0] ** 2 * g
            else:
                step = factors[0].T @ factors[0] @ g @ factors[1].T @ factors[1]
            step = step * min(1, 1.1 / np.sqrt((step**2).mean()))
            value -= own.lr * (step + own.weight_decay * value * (value.ndim == 2))

    def changed(self, factors, g, v):
        if g.ndim == 1:
            a, b = (factors[0] * g) ** 2, (v / factors[0]) ** 2
            yield factors[0] * (1 - self.own.factor_lr * (a - b) / (a + b).max())
            return
        left, right = factors
        a, b = left @ g @ right.T, np.linalg.inv(left).T @ v @ np.linalg.inv(right)
        for factor, of_a, of_b in ((left, a @ a.T, b @ b.T), (right, a.T @ a, b.T @ b)):
            both = of_a + of_b
            column = both[:, np.argmax((both**2).sum(axis=0))]
            along = both @ column
            norm = np.linalg.norm(both @ along / np.linalg.norm(along))
            yield factor - self.own.factor_lr * np.triu(of_a - of_b) @ factor / norm


def test_twenty_steps_of_different_runs_are_the_sources(monkeypatch):
    monkeypatch.setattr(kron, "BALANCED", 0.2)
    pack = [Kron(0.01), Kron(0.03, 0.5, 0.1), Kron(0.003, factor_lr=0.5)]
    model = classifier(MLP(width=13, depth=2), [ReLU()] * 3, (1, 3, 3), 5)
    start = model.start([1, 2, 3], CPU)
    stepped, draw = Stepped(pack, start, model), torch.Generator().manual_seed(0)

    def of_run(values, name, run):
        own = values[name][run][..., : stepped.real.get(name)].double().numpy()
        return own.T.copy() if name.endswith("weight") else own.ravel().copy()

    twins = [Twin(own, {name: of_run(start, name, run) for name in sorted(start)}) for run, own in enumerate(pack)]
    first = {name: value.clone() for name, value in start.items()}
    for t in range(20):
        gradients = {name: value - 1 + torch.randn(value.shape, generator=draw) for name, value in start.items()}
        for name, count in stepped.real.items():
            if name in gradients:
                gradients[name][..., count:] = 0
        now = RuleInputs(start, gradients, {}, {}, {}, lambda *_: torch.ones(1), stepped.real, [], lambda _: None, KEYS,
                         torch.tensor(t))  # fmt: skip
        drawn, balances = noise(now, now.names), uniforms(KEYS, now.count + kron.APART, 1)[:, 0] < 0.2
        for run, twin in enumerate(twins):
            own, v = ({name: of_run(values, name, run) for name in twin.parameters} for values in (gradients, drawn))
            twin.take(t + 1, own, v, bool(balances[run]))
        stepped.take(gradients)
    for run, twin in enumerate(twins):
        for name, expected in twin.parameters.items():
            np.testing.assert_allclose(of_run(stepped.parameters, name, run), expected, rtol=0, atol=5e-6)
            assert np.abs(of_run(first, name, run) - expected).max() > 0.01
            for kind, factor in zip(("columns", "rows"), twin.factors[name], strict=False):
                size, own = len(factor), stepped.rule[kind][name][run]
                own = own.flatten()[:size] if factor.ndim == 1 else own[:size, :size]
                np.testing.assert_allclose(own, factor, rtol=0, atol=1e-5 * np.abs(factor).max())


def test_some_axes_have_diagonal_factors():
    values = {"a.weight": torch.zeros(2, 12, 5), "a.bias": torch.zeros(2, 1, 5), "b.weight": torch.zeros(2, 3, 4, 8)}

    def shapes(own: Kron):
        return {(kind, name): tuple(value.shape) for kind, each in own.start_state(values).items()
                for name, value in each.items()}  # fmt: skip

    full = shapes(Kron())
    assert full["rows", "a.weight"] == (2, 12, 12)
    assert full["columns", "b.weight"] == (2, 3, 8, 8)
    assert full["columns", "a.bias"] == (2, 1, 5)
    assert ("rows", "a.bias") not in full
    assert shapes(Kron(largest_triangular=10)) == {**full, ("rows", "a.weight"): (2, 12)}
    assert shapes(Kron(memory_saving="largest")) == {
        **full, ("rows", "a.weight"): (2, 12), ("columns", "b.weight"): (2, 3, 8)
    }  # fmt: skip
    assert shapes(Kron(memory_saving="all"))["columns", "a.weight"] == (2, 5)
