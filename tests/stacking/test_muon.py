"""Muon by hand, and beside the formulas of its authors' code in float64."""

import numpy as np
import pytest
import torch

from plasticity_lab.activations.relu import ReLU
from plasticity_lab.agents.optimizer_step import TrainState, UpdateInputs, optimizer_step_of
from plasticity_lab.interventions.none import NoIntervention
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.units import real_columns
from plasticity_lab.stacking.muon import Muon, newton_schulz
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU

A, B, C = 3.4445, -4.775, 2.0315


def test_a_diagonal_matrix_and_a_column_by_hand():
    """Singular values are iterated one by one: s ← 3.4445 s − 4.775 s³ + 2.0315 s⁵, from s divided by the norm."""
    expected = []
    for s in (0.6, 0.8):
        for _ in range(5):
            s = A * s + B * s**3 + C * s**5
        expected.append(s)
    diagonal = newton_schulz(torch.tensor([[[3.0, 0.0], [0.0, 4.0]]]))[0]
    np.testing.assert_allclose(diagonal, np.diag(expected), rtol=1e-5)
    one = 1.0
    for _ in range(5):
        one = A * one + B * one**3 + C * one**5
    column = newton_schulz(torch.tensor([[[3.0], [4.0], [0.0]]]))[0]
    np.testing.assert_allclose(column, one * np.array([[0.6], [0.8], [0.0]]), rtol=1e-5)
    assert not newton_schulz(torch.zeros(1, 3, 2)).any()


def their_update(gradient, momentum, beta):
    """The formulas of `muon_update`, for a matrix (outputs, inputs)."""
    momentum = momentum + (gradient - momentum) * (1 - beta)
    update = gradient + (momentum - gradient) * beta
    x = update.mT if update.shape[0] > update.shape[1] else update
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = A * x + (B * gram + C * gram @ gram) @ x
    x = x.mT if update.shape[0] > update.shape[1] else x
    return x * max(1, update.shape[0] / update.shape[1]) ** 0.5, momentum


@pytest.mark.parametrize(("width", "depth"), [(5, 3), (13, 2)])
def test_twenty_steps_of_different_runs_are_the_authors(width, depth):
    """The hidden matrices beside their formulas, the rest beside PyTorch's AdamW, in float64."""
    pack = [Muon(0.02, weight_decay=0.1), Muon(0.1, 0.5, adam_share=0.1), Muon(0.005, 0.9)]
    model = classifier(MLP(width=width, depth=depth), [ReLU()] * 3, (1, 3, 3), 2)
    parameters = model.start([1, 2, 3], CPU)
    real = {name: count for name, count in real_columns(model).items() if name in parameters}
    hidden = [f"hidden{n}.weight" for n in range(2, depth + 1)]

    def of_run(values, name, k):
        return values[name][k][..., : real.get(name, values[name].shape[-1])].double().mT.contiguous()

    twins = [{name: of_run(parameters, name, k).clone() for name in parameters} for k in range(3)]
    momenta = [{name: torch.zeros_like(twin[name]) for name in hidden} for twin in twins]
    rest = [[name for name in parameters if name not in hidden] for _ in range(3)]
    adams = [
        torch.optim.AdamW([twin[name] for name in names], lr=own.lr * own.adam_share, betas=(0.9, 0.95), eps=1e-10,
                          weight_decay=own.weight_decay)
        for own, twin, names in zip(pack, twins, rest, strict=True)
    ]  # fmt: skip
    settings = {"optimizer": on_run_axis(pack, dtype=torch.float64)}
    moments, step = pack[0].start(parameters), optimizer_step_of(model, pack[0], NoIntervention())
    draw = torch.Generator().manual_seed(0)
    for t in range(20):
        gradients = {name: torch.randn(value.shape, generator=draw) for name, value in parameters.items()}
        for name, count in real.items():
            gradients[name][..., count:] = 0
        rows = {name: values[0] for name, values in pack[0].corrections(settings["optimizer"], t + 1, 1).items()}
        step(
            TrainState(parameters, moments, {}, {}),
            gradients,
            UpdateInputs(settings, torch.zeros(0), torch.tensor(t), rows),
        )
        for k, own in enumerate(pack):
            for name in hidden:
                update, momenta[k][name] = their_update(of_run(gradients, name, k), momenta[k][name], own.momentum)
                twins[k][name] = twins[k][name] * (1 - own.lr * own.weight_decay) - own.lr * update
            for name in rest[k]:
                twins[k][name].grad = of_run(gradients, name, k)
            adams[k].step()
    for k, twin in enumerate(twins):
        for name, value in parameters.items():
            torch.testing.assert_close(of_run(parameters, name, k), twin[name], rtol=0, atol=2e-6)
            assert not value[k][..., real.get(name, value.shape[-1]) :].any()
