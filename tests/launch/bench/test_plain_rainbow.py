"""The plain Rainbow of the bench, which shares no code with the agent, computes what the agent computes."""

import numpy as np
import pytest
import torch

from launch.bench.plain_rainbow import BATCH, PlainRainbow, SumTree
from launch.command import resolve
from plasticity_lab.agents.value.step import MEASURED
from plasticity_lab.assembly import assembled
from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.records.rows import Position
from tests.helpers.packs import CPU

pytestmark = pytest.mark.sample(2)

WORDS = ("agent=rainbow", "seed=0", "device=cpu", "agent.noise=0", "agent.capacity=600", "agent.min_history=60")
PAIRS = [("small_impala", "games"), ("nature", "catch_84"), ("impala", "catch_84")]


def agent_on(network, benchmark):
    """A run of agent=rainbow at its beginning, and its body."""
    (run,) = resolve([*WORDS, f"benchmark={benchmark}", f"network={network}"]).runs
    bodies = run.component("benchmark", BodyBenchmark).outline()
    stream, learner = assembled([run], bodies, CPU, False)
    learner.begin(stream.task(0), fresh=True)
    return learner, next(iter(bodies.by_name.values())), next(stream.task(0).chunks(Position(0, 0)))


def layers_of(network):
    """The script's layers in the agent's order."""
    kinds = (torch.nn.Conv2d, torch.nn.Linear)
    return [each for name, each in network.named_modules() if isinstance(each, kinds) and "deviation" not in name]


def given(plain, learner, parameters):
    """The script's network with the agent's weights."""
    with torch.no_grad():
        for ours, layer in zip(learner.network.model.design.layers, layers_of(plain), strict=True):
            for part, of in (("weight", layer.weight), ("bias", layer.bias)):
                value = parameters[f"{ours.name}.{part}"][0, ..., : ours.outputs]
                of.copy_((value.T if part == "weight" else value).reshape(of.shape))


@pytest.mark.parametrize(("network", "benchmark"), PAIRS)
@pytest.mark.parametrize("tuned", [False, True], ids=["plain", "tuned"])
def test_its_losses_and_its_step_are_the_agents(network, benchmark, tuned):
    learner, body, _ = agent_on(network, benchmark)
    run = PlainRainbow(body, network, capacity=200, history=80, tuned=tuned, sigma=0.0)
    given(run.network, learner, learner.network.parameters)
    given(run.target, learner, learner.network.model.start([1], CPU))  # a target that is not the network itself
    learner.target.parameters.update(learner.network.model.start([1], CPU))
    _, batch = run.buffer.sample()
    draws = np.random.default_rng(0)
    batch["returns"] += torch.from_numpy(draws.normal(0, 6, BATCH).astype(np.float32))  # some beyond the support
    batch["discount"][::5] = 0.0
    batch["importance"] = torch.from_numpy(draws.uniform(0.1, 1, BATCH).astype(np.float32))
    there = {name: value.unsqueeze(0) for name, value in batch.items()}
    there |= {name: there[name].flatten(2) for name in ("x", "following")} | {"weight": torch.full((BATCH,), 1 / BATCH)}
    packed = learner.network
    rows = {**packed.corrections(1), "updates": torch.zeros(1, dtype=torch.int64)}
    before = {name: value.clone() for name, value in packed.parameters.items()}

    theirs = run.update(batch)

    learner.step(
        packed.train_state, learner.target.parameters, packed.settings, learner.keys, there, rows,
        learner.measured.tensor, learner.measured.at[0],
    )  # fmt: skip
    ours = learner.measured.tensor[0, MEASURED.index("loss"), 0, :BATCH]
    torch.testing.assert_close(theirs, ours, rtol=1e-5, atol=1e-5)
    for own, layer in zip(packed.model.design.layers, layers_of(run.network), strict=True):
        name = f"{own.name}.weight"
        after, was = (values[name][0, :, : own.outputs] for values in (packed.parameters, before))
        moved = (after - was).abs().max()
        assert moved > 0
        differing = layer.weight.flatten(1).T - after
        assert differing.abs().max() <= 0.02 * moved + 1e-7  # float32 weights are that coarse beside so small a step


def test_the_tree_draws_each_share_of_the_sum():
    tree = SumTree(5)
    tree.put(np.array([0, 1, 4]), np.array([1.0, 2.0, 1.0]))
    tree.put(np.array([1]), np.array([6.0]))
    counts = np.bincount(tree.draw(8_000, np.random.default_rng(0)), minlength=5)
    assert tree.sums[1] == 8
    assert counts.tolist() == [1_000, 6_000, 0, 0, 1_000]
