"""Learning rates by schedule: the steps of plain PyTorch, and the same bits in a pack, alone and resumed."""

from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy

from plasticity_lab.agents.acting.schedule import Timetable
from plasticity_lab.agents.optimizer_step import BY_STEP, OF_BODY, OF_CHANGE, RATE, UpdateInputs, scheduled
from plasticity_lab.assembly import assembled, resources
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.rows import Position
from plasticity_lab.stacking.adam import Adam
from tests.agents.ppo.packs import BOTH, there_are
from tests.agents.sac.packs import SMALL as OF_SAC
from tests.agents.value.packs import BY_AGENT
from tests.helpers.packs import CPU, choices, differing, images, needs_compiler, needs_kernels, run, trained
from tests.interventions.test_infer import module
from tests.tenants import packs as tenants

IMAGES = images(8, 61, 20)
STREAM = {"images": 61, "tasks": 2, "epochs": 3}
PARTS = "weight", "bias"
COSINE = {"schedule": "cosine", "warmup": 0.25, "final": 0.1}


def runs_of(name: str = "adam", by: str = "task", **stream) -> list:
    """Three runs of different rates, warm-ups and final rates at width 13."""
    each = [(0.01, 0.0, 0.0), (0.003, 0.25, 0.1), (0.02, 0.5, 1.0)]
    return [
        run(seed, network={"width": 13}, optimizer={"name": name, "lr": lr, "schedule": "cosine", "schedule_by": by,
            "warmup": warmup, "final": final}, **STREAM | stream)
        for seed, (lr, warmup, final) in enumerate(each)
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "by"), [("adamw", "task"), ("sgd", "run")])
def test_a_pack_takes_the_steps_of_plain_pytorch(name, by):
    """Two tasks of twelve updates; by task, the rate begins again with the second."""
    runs = runs_of(name, by)
    stream, learner = assembled(runs, IMAGES, CPU, False)
    made = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[name]
    plain = []
    for k in range(3):
        network = learner.network
        layers = []
        for layer in network.model.design.layers:
            weight, bias = (network.parameters[f"{layer.name}.{part}"][k][:, : layer.outputs] for part in PARTS)
            layers.append(module(weight, bias[0]))
        layers = torch.nn.ModuleList([torch.nn.Flatten(), *layers])
        own = runs[k].settings("optimizer")
        plain.append((layers, own, made(layers.parameters(), lr=1.0, weight_decay=own["weight_decay"])))
    taken = 0
    for task in stream.tasks(Position(0, 0)):
        learner.begin(task, fresh=True)
        chunks = list(task.chunks(Position(task.position, 0)))
        for chunk in chunks:
            learner.advance(chunk)
        began = taken if by == "task" else 0
        for chunk in chunks:
            for step in range(chunk.steps):
                factors = learner.network.schedule.factors(taken - began, 1, 12 if by == "task" else 24)[0]
                for k, (layers, own, optimizer) in enumerate(plain):
                    at = torch.from_numpy(chunk.images[k, step, : chunk.counts[step]].copy())[None].expand(3, -1)
                    x, labels = (values[k] for values in learner._batch(at))
                    for layer in layers[1:-1]:
                        x = layer(x).relu()
                    optimizer.param_groups[0]["lr"] = own["lr"] * float(factors[k])
                    optimizer.zero_grad()
                    cross_entropy(layers[-1](x), labels).backward()
                    optimizer.step()
                taken += 1
        learner.end(task)
    assert taken == 24
    for k, (layers, _, _) in enumerate(plain):
        ours = learner.network.parameters["hidden1.weight"][k][:, :13]
        torch.testing.assert_close(ours, layers[1].weight.T, atol=2e-6, rtol=1e-5)


@pytest.mark.walk(1)
@pytest.mark.parametrize("name", choices("optimizer"))
def test_packed_alone_and_resumed_are_the_same_under_every_optimizer(name):
    runs = runs_of(name)
    packed, resumed = trained(runs, IMAGES), trained(runs, IMAGES, stops=[2, 3])
    for k in range(3):
        assert not differing(packed.of(k), trained(runs[k : k + 1], IMAGES).of(0))
        assert not differing(packed.of(k), resumed.of(k))


def test_a_run_without_a_schedule_is_the_same_beside_one_with_a_warm_up():
    """A constant rate at a warm-up of 0 shares the pack of a run with one, and is the plain run bit for bit."""
    runs = [run(seed, optimizer={"warmup": warmup}, **STREAM) for seed, warmup in ((1, 0.0), (2, 0.5))]
    packed = trained(runs, IMAGES)
    assert not differing(packed.of(0), trained([run(1, **STREAM)], IMAGES).of(0))
    assert differing(packed.of(1), trained([run(2, **STREAM)], IMAGES).of(0))
    assert "task_began" not in trained(runs[:1], IMAGES).agent.state()


def test_an_update_multiplies_the_rate_and_what_contains_it_by_hand():
    """Adam's size lr / (1 − β₁ᵗ), also of a body's own or changed parameters, and of reset slices."""
    half = torch.tensor([1.0, 0.5], dtype=torch.float64)
    ones = {name: torch.ones(2) for name in ("size", "root")}
    own = {"lr": torch.tensor([0.2, 0.2], dtype=torch.float64), "beta1": half}
    settings = {"optimizer": own, BY_STEP: {"size": torch.ones(3, 2), "root": torch.ones(3, 2)}}
    corrections = {**ones, f"{OF_BODY}size": torch.full((2,), 4.0), f"{OF_CHANGE}{OF_BODY}size": torch.full((2,), 8.0)}
    inputs = UpdateInputs(settings, torch.zeros(2, 2), torch.tensor(0), corrections)
    assert scheduled(Adam(), inputs) is inputs
    found = scheduled(Adam(), inputs._replace(corrections={**corrections, RATE: half}))
    assert found.settings["optimizer"]["lr"].tolist() == [0.2, 0.1]
    assert found.settings["optimizer"]["beta1"] is half
    assert found.settings[BY_STEP]["size"].tolist() == [[1.0, 0.5]] * 3
    assert found.corrections["size"].tolist() == [1.0, 0.5]
    assert found.corrections[f"{OF_BODY}size"].tolist() == [4.0, 2.0]
    assert found.corrections[f"{OF_CHANGE}{OF_BODY}size"].tolist() == [8.0, 4.0]
    assert found.corrections["root"] is ones["root"]
    assert found.corrections["size"].dtype == torch.float32


@needs_kernels
def test_with_kernels_that_take_the_step_a_packed_run_is_the_run_alone():
    runs = runs_of("adamw")
    packed, eager = trained(runs, IMAGES, kernels=True), trained(runs, IMAGES)
    assert not differing(packed.of(1), trained(runs[1:2], IMAGES, kernels=True).of(0))
    for name, value in packed.agent.weights().items():
        torch.testing.assert_close(value, eager.agent.weights()[name], atol=1e-5, rtol=1e-4)


@needs_compiler
@pytest.mark.slow
def test_compiled_a_run_is_the_same_alone_and_in_a_pack():
    runs = runs_of("adamw")
    packed, eager = trained(runs, IMAGES, compiled=True, stops=[2]), trained(runs, IMAGES)
    assert not differing(packed.of(1), trained(runs[1:2], IMAGES, compiled=True).of(0))
    for name, value in packed.agent.weights().items():
        torch.testing.assert_close(value, eager.agent.weights()[name], atol=1e-5, rtol=1e-4)


AGENTS = {
    "ppo": (*BOTH, "benchmark.environment_steps=64", "agent.epochs=1", "optimizer.schedule_by=run"),
    "dqn": (*BY_AGENT["dqn"], "agent.min_history=20", "benchmark.environment_steps=60"),
    "emptied": (
        *BY_AGENT["dqn"],
        "agent.min_history=21",
        "benchmark.environment_steps=60",
        "agent.empty_each_task=true",
    ),
    "sac": (*OF_SAC, "agent.policy_period=2", "benchmark.environment_steps=66", "benchmark.test_episodes=1"),
    "experience_replay": (
        "agent=experience_replay",
        "benchmark=split_digits",
        "benchmark.epochs=1",
        "network.width=13",
    ),
}
OF_OPTIMIZER = [f"optimizer.{key}={value}" for key, value in COSINE.items()]


@pytest.mark.walk(1)
@pytest.mark.parametrize("agent", AGENTS)
def test_under_every_agent_packed_alone_and_resumed_are_the_same(agent, monkeypatch):
    there_are(monkeypatch)
    tenants.hold(*AGENTS[agent], *OF_OPTIMIZER, "seed=1,2", stops=[2])


@pytest.mark.walk(1)
@pytest.mark.parametrize("agent", AGENTS)
def test_tasks_and_runs_have_the_updates_that_their_schedules_expect(agent, monkeypatch):
    there_are(monkeypatch)
    (made,) = tenants.packs_of(*AGENTS[agent], *OF_OPTIMIZER, "seed=1")
    stream, learner = assembled([made], resources(Path())(made), CPU, False)
    networks = getattr(learner, "networks", None) or [learner.network]
    for task in stream.tasks(Position(0, 0)):
        learner.begin(task, fresh=True)
        before = [network.updates for network in networks]
        for chunk in task.chunks(Position(task.position, 0)):
            learner.advance(chunk)
        learner.end(task)
        for network, earlier in zip(networks, before, strict=True):
            assert network.updates - earlier == network._lengths["task"] > 0
    assert {network.updates for network in networks} == {networks[0]._lengths["run"]}


def test_updates_of_tasks_with_a_memory_by_hand():
    """An update each 4 steps of 3 environments; after a history of 10, so from step 9 on: 7 − 2, then 15 − 7."""
    timetable = Timetable(min_history=10, update_period=4, target_period=1)
    assert [timetable.updates_of(position, 30, 3, emptied=False) for position in range(3)] == [5, 8, 7]
    assert sum(timetable.updates_of(position, 30, 3, False) for position in range(3)) == timetable.all_updates(90, 3)
    assert [timetable.updates_of(position, 30, 3, emptied=True) for position in range(3)] == [5, 6, 5]
    assert timetable.updates_of(0, 6, 3, emptied=True) == 0


def test_two_schedules_of_one_rate_are_refused():
    with pytest.raises(ConfigError, match=r"agent\.anneal_lr=true already lowers the learning rate"):
        tenants.packs_of("agent=ppo_cleanrl", "benchmark=classic_cycle", "optimizer.schedule=linear")
