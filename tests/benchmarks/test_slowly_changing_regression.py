"""Slowly changing regression: inputs and numbers against a separate generator, and the agent that learns it."""

from pathlib import Path

import numpy as np
import pytest
import torch

from launch.command import resolve
from plasticity_lab.benchmarks.labelled.slowly_changing_regression import SlowlyChangingRegression
from plasticity_lab.data.sources import load_images
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream
from tests.helpers.packs import choice, differing, run, trained

LENGTH = {"source": "bits20", "images": 30, "tasks": 3, "epochs": 1, "steps": None, "batch_size": 1}
AGENT = ("regression", *choice("agent", "regression"))


@pytest.fixture(scope="module")
def bits():
    return load_images("bits20", Path())


def a_run(seed: int, rate: float = 0.01, optimizer: str = "sgd", **settings):
    return run(
        seed,
        benchmark="slowly_changing_regression",
        network={"width": 5, "depth": 1},
        optimizer={"name": optimizer, "lr": rate},
        agent=AGENT,
        **LENGTH | settings,
    )


def test_pattern_p_shows_the_bits_of_p(bits):
    assert bits.train_images.shape == (2**20, 1, 1, 20)
    for pattern in (0, 1, 6, 2**19, 2**20 - 1):
        assert bits.train_images[pattern].ravel().tolist() == [pattern >> bit & 1 for bit in range(20)]


@pytest.mark.parametrize("flip", ["one", "all"])
def test_inputs_and_numbers_are_those_of_a_separate_generator(flip, bits):
    benchmark = SlowlyChangingRegression(**LENGTH, flip=flip, target_features=7, beta=0.6)
    draw = host_stream(4, "target network")
    weights, bias, output, constant = (2 * draw.integers(0, 2, shape) - 1 for shape in ((7, 20), 7, 7, ()))

    def number(x: list[int]) -> int:
        total = int(constant)
        for unit in range(7):
            inside = sum(weights[unit, bit] * x[bit] for bit in range(20)) + bias[unit]
            minus = (20 - weights[unit].sum() + bias[unit]) / 2
            total += int(output[unit]) * (inside > 0.6 * 21 - minus)
        return total

    slow = host_stream(4, "slow bits").integers(0, 2, 15).tolist()
    flips = host_stream(4, "flips").integers(0, 15, 5)
    for position in range(6):
        if flip == "all":
            slow = host_stream(4, "slow bits", position).integers(0, 2, 15).tolist()
        elif position:
            slow[flips[position - 1]] ^= 1
        free = host_stream(4, "free bits", position).integers(0, 2, (30, 5)).tolist()
        lesson = benchmark.lesson(bits, 4, position)
        shown = bits.train_images[lesson.images].reshape(-1, 20)
        assert shown.tolist() == [slow + each for each in free]
        assert lesson.labels.tolist() == [number(x.tolist()) for x in shown.astype(int)]
        held_out = bits.train_images[lesson.held_out].reshape(-1, 20).astype(int)
        assert len({tuple(x) for x in held_out}) == 32
        assert all(x[:15].tolist() == slow for x in held_out)
        assert lesson.held_out_labels.tolist() == [number(x.tolist()) for x in held_out]


def test_its_steps_are_those_of_a_plain_loop(bits):
    """Squared errors without a half, one example a step, by torch's own SGD."""
    found = trained([a_run(3)], bits).of(0)
    start = trained([a_run(3, rate=1e-30)], bits).agent.weights()
    layers = [(start[f"{name}.weight"][0], start[f"{name}.bias"][0]) for name in ("hidden1", "value")]
    first, last = torch.nn.Linear(20, 5), torch.nn.Linear(5, 1)
    for layer, (weight, bias) in zip((first, last), layers, strict=True):
        layer.weight.data = weight[: layer.in_features, : layer.out_features].T.clone()
        layer.bias.data = bias.flatten()[: layer.out_features].clone()
    optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.01)
    benchmark, errors = SlowlyChangingRegression(**LENGTH), []
    for position in range(3):
        lesson = benchmark.lesson(bits, 3, position)
        for image, label in zip(lesson.images, lesson.labels, strict=True):
            x = torch.from_numpy(bits.train_images[image].ravel()).float()
            error = (last(first(x).relu())[0] - float(label)) ** 2
            optimizer.zero_grad()
            error.backward()
            optimizer.step()
            errors.append(error.item())
    assert np.allclose(found["squared_error"], errors, rtol=1e-4, atol=1e-5)
    x = torch.from_numpy(bits.train_images[lesson.held_out].reshape(-1, 20)).float()
    left = (last(first(x).relu())[:, 0] - torch.from_numpy(lesson.held_out_labels)).square().mean()
    assert found["final_error"][-1] == pytest.approx(left.item(), rel=1e-4)


@pytest.mark.parametrize("settings", [{}, {"transition_steps": 12, "flip": "all"}], ids=["abrupt", "gradual"])
def test_a_run_is_the_same_alone_packed_with_other_rates_and_killed_within_a_task(settings, bits, monkeypatch):
    monkeypatch.setattr("plasticity_lab.benchmarks.labelled.stream.CHUNK_STEPS", 8)
    alone = trained([a_run(1, 0.003, "adam", **settings)], bits).of(0)
    packed = trained(
        [a_run(seed, rate, "adam", **settings) for seed, rate in ((2, 0.01), (1, 0.003))], bits, stops=(6,)
    )
    assert not differing(alone, packed.of(1))
    assert differing(alone, packed.of(0))


def test_only_its_own_agent_learns_it():
    (run,) = resolve(["benchmark=slowly_changing_regression", "seed=0"]).runs
    assert (run.name("agent"), run.science["network"]["width"], run.science["network"]["depth"]) == ("regression", 5, 1)
    with pytest.raises(ConfigError, match="agent=regression predicts numbers"):
        resolve(["benchmark=slowly_changing_regression", "agent=supervised"])
    with pytest.raises(ConfigError, match="agent=regression"):
        resolve(["benchmark=permuted_digits", "agent=regression"])
    with pytest.raises(ConfigError, match=r"benchmark\.eval_matrix"):
        SlowlyChangingRegression(**LENGTH, eval_matrix=True)
