"""Parseval regularisation by hand, beside the expressions of its authors' code, and packs of different strengths."""

import numpy as np
import pytest
import torch

from plasticity_lab.component import build
from plasticity_lab.interventions.now import Now
from plasticity_lab.interventions.parseval import Parseval
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.units import real_columns
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice, differing, images, run, trained

PARSEVAL, USUAL = choice("intervention", "parseval")
IMAGES = images(8, 61, 20)
STREAM = {"images": 61, "tasks": 2, "epochs": 2, "network": {"width": 13}}
SMALL = {"by_width": False}


def model_of(width, inputs, runs=1):
    relu = build("activation", "relu", *choice("activation", "relu"))
    return classifier(MLP(width=width, depth=1), [relu] * runs, (inputs,), 2)


def penalty_and_slope(parseval, weight, **fields):
    """Of one hidden layer with a weight (inputs, units); the other layers are as they start."""
    model = model_of(weight.shape[1], weight.shape[0])
    parameters = model.start([0], CPU)
    parameters["hidden1.weight"][0, :, : weight.shape[1]] = weight
    now = Now(model, parameters, on_run_axis([parseval]), {}, **fields)
    slope = torch.func.grad(lambda own: parseval.penalty(now._replace(parameters=own)).sum())(parameters)
    assert not slope["output.weight"].any()
    return float(parseval.penalty(now)), slope["hidden1.weight"][0, :, : weight.shape[1]], now


@pytest.mark.parametrize(
    ("settings", "weight", "value", "slope"),
    [
        # W Wᵀ − 2 I = diag(2, −1): 4 + 1, and 4 (W Wᵀ − 2 I) W.
        ({}, [[2, 0], [0, 1]], 5, [[16, 0], [0, -4]]),
        ({"scale": 1.0}, [[2, 0], [0, 1]], 9, [[24, 0], [0, 0]]),
        ({"by_width": True, "strength": 2**-10}, [[2, 0], [0, 1]], 5, [[16, 0], [0, -4]]),
        # Rows (1, 1) and (1, 0): W Wᵀ − I = ((1, 1), (1, 0)).
        ({"scale": 1.0}, [[1, 1], [1, 0]], 3, [[8, 4], [4, 4]]),
        ({"scale": 1.0, "groups": 2}, [[1, 1], [1, 0]], 1, [[4, 0], [4, 0]]),
        # Divided by their lengths: (1, 0) and (0, 1).
        ({"scale": 1.0, "normalised": True}, [[2, 0], [0, 5]], 0, [[0, 0], [0, 0]]),
        # One input and two units: rows of units ((1, 1), (1, 1)) − I, of inputs (2) − 1.
        ({"scale": 1.0}, [[1, 1]], 2, [[4, 4]]),
        ({"scale": 1.0, "rows": "shorter"}, [[1, 1]], 1, [[4, 4]]),
    ],
)  # fmt: skip
def test_two_units_by_hand(settings, weight, value, slope):
    found, by_weight, _ = penalty_and_slope(
        Parseval(**{"strength": 1.0, **SMALL, **settings}), torch.tensor(weight).float()
    )
    assert found == pytest.approx(value)
    torch.testing.assert_close(by_weight, torch.tensor(slope).float())


def test_decoupled_it_takes_a_step_from_the_weights_before_the_update_and_never_a_long_one():
    """lr 0.1, λ 0.5: W − 0.05 · ∇R = diag(2, 1) − diag(0.8, −0.2), beside the optimizer's own step of −1."""
    before = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    for lr, expected in ((0.1, [[1.2, 0.0], [0.0, 1.2]]), (100.0, None)):
        parseval = Parseval(0.5, decoupled=True, **SMALL)
        value, slope, now = penalty_and_slope(parseval, before - 1.0, optimizer={"lr": torch.tensor([lr]).double()})
        assert value == 0
        assert not slope.any()
        step = {name: torch.zeros_like(value) for name, value in now.parameters.items()}
        step["hidden1.weight"][0, :, :2] = -1.0
        parseval.after_step(now._replace(step=step))
        moved = now.parameters["hidden1.weight"][0, :, :2] + 1.0
        if expected is None:
            assert float((moved - before).norm()) == pytest.approx(0.5 * float(before.norm()))
        else:
            torch.testing.assert_close(moved, torch.tensor(expected))


@pytest.mark.parametrize(("normalised", "groups"), [(False, 1), (True, 1), (False, 3)])
def test_fifty_steps_are_those_of_the_authors_expression(normalised, groups):
    """`parseval_reg/agent.py`, in float64: 7 inputs, 6 units; three strengths in one pack."""
    strengths = [1e-5, 0.0, 1e-4]
    pack = [Parseval(strength, normalised=normalised, groups=groups) for strength in strengths]
    model = model_of(6, 7, runs=3)
    parameters = model.start([1, 2, 3], CPU)
    real = real_columns(model)["hidden1.weight"]
    theirs = [value[:, :real].T.double() for value in parameters["hidden1.weight"]]
    now = Now(model, parameters, on_run_axis(pack), {})
    mask = torch.kron(torch.eye(groups), torch.ones(6 // groups, 6 // groups)).double()
    slope_of = torch.func.grad(lambda own: pack[0].penalty(now._replace(parameters=own)).sum())
    for _ in range(50):
        slopes = slope_of(parameters)
        parameters = {name: value - slopes[name] for name, value in parameters.items()}
        for k, strength in enumerate(strengths):
            weight = theirs[k].clone().requires_grad_()
            rows = weight / torch.norm(weight, dim=1).view(-1, 1) if normalised else weight
            off = mask * torch.matmul(rows, rows.t()) - 2 * torch.eye(6)
            loss = strength * (64 / 6) ** 2 * torch.norm(off, p="fro") ** 2
            (slope,) = torch.autograd.grad(loss, weight)
            theirs[k] = theirs[k] - slope
    for k in range(3):
        ours = parameters["hidden1.weight"][k, :, :real].T.double()
        torch.testing.assert_close(ours, theirs[k], rtol=0, atol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"decoupled": True}, {"normalised": True, "groups": 2, "rows": "shorter"}])
def test_strengths_differ_in_a_pack_and_zero_is_the_plain_run(settings):
    runs = [
        run(seed, intervention=(PARSEVAL, USUAL | {"strength": strength} | settings), **STREAM)
        for seed, strength in ((1, 0.01), (2, 0.0), (3, 0.1))
    ]
    packed = trained(runs, IMAGES)
    assert not packed.agent.weights()["hidden1.weight"][..., 13:].any()
    for k, one in enumerate(runs):
        assert not differing(trained([one], IMAGES).measured.of(0), packed.measured.of(k))
    plain = trained([run(2, **STREAM)], IMAGES).measured.of(0)
    assert not differing(plain, packed.measured.of(1))


@pytest.mark.parametrize("decoupled", [False, True])
def test_rows_become_orthogonal(decoupled):
    """A network of 20 units for 64 inputs, without a loss that matters."""
    settings = USUAL | {"strength": 1.0, "scale": 1.0, "decoupled": decoupled, "by_width": False}
    how = {"optimizer": {"name": "sgd", "lr": 0.01}, "images": 61, "epochs": 20, "tasks": 1, "network": {"width": 20}}
    weights = trained([run(1, intervention=(PARSEVAL, settings), **how)], IMAGES).agent.weights()["hidden1.weight"]
    np.testing.assert_allclose(weights[0].T @ weights[0], np.eye(20), atol=0.05)
