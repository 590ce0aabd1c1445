"""Plasticity injection by hand, and what every change of a network keeps: frozen parts, and the plain run's bits."""

import numpy as np
import pytest
import torch

from plasticity_lab.activations.relu import ReLU
from plasticity_lab.assembly import assembled
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.plasticity_injection import PlasticityInjection
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.traced import Traced
from plasticity_lab.records.rows import Position
from tests.agents.ppo.packs import BOTH, there_are
from tests.agents.sac.packs import SMALL as SAC
from tests.agents.value.packs import SMALL, begun
from tests.helpers.networks import classifier, logits
from tests.helpers.packs import CPU, NO_INTERVENTION, differing, images, needs_compiler, run, trained
from tests.helpers.sweeps import runs_of
from tests.tenants import packs as tenants

IMAGES = images(8, 61, 20)
INJECTION = "plasticity_lab.interventions.plasticity_injection.PlasticityInjection"
FROZEN = "frozen."
STREAM = {"images": 61, "tasks": 2, "epochs": 2, "network": {"width": 13}}
AT = (3.0, 9.0, 1e9)
"""Of 16 updates: within the first task, within the second, and never."""


def pack(*at: float, **how) -> list:
    """Runs that are injected after so many updates, one of each seed."""
    slopes, chosen = {"scope": "layer"}, [(INJECTION, {"at": own}) for own in at]
    return [run(seed, "prelu", slopes, intervention=own, **STREAM | how) for seed, own in enumerate(chosen)]


class OfTwo(Traced):
    called = "of_two"

    def __init__(self) -> None:
        super().__init__([12])

    def features(self, steps, x):
        return steps.activate(steps.conv("conv1", x, 4, 3))


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


@pytest.mark.parametrize("gate", [0.0, 1.0])
def test_outputs_and_gradients_are_those_worked_out_by_hand(gate):
    """Two inputs, two hidden layers of three units, one output: z = relu(xA), and heads relu(zW)v."""
    features = np.array([[1.0, -1.0, 0.5], [0.0, 2.0, 1.0]])
    heads = {
        "": (np.array([[1.0, 0, 1], [2, -1, 0], [0, 1, 1]]), np.array([[1.0], [-1], [2]])),
        "frozen.before.": (np.array([[0.0, 1, 1], [1, 1, -1], [1, 0, 2]]), np.array([[2.0], [1], [1]])),
        "frozen.fresh.": (np.array([[1.0, 1, 0], [0, 1, 1], [-1, 2, 1]]), np.array([[1.0], [1], [-1]])),
    }
    model = classifier(MLP(width=3).changed(PlasticityInjection()), [ReLU()], (1, 1, 2), 1)
    parameters = {name: torch.zeros_like(value) for name, value in model.start([0], CPU).items()}
    parameters["hidden1.weight"][0, :, :3] = torch.tensor(features)
    for prefix, (weight, output) in heads.items():
        parameters[f"{prefix}hidden2.weight"][0, :, :3] = torch.tensor(weight)
        parameters[f"{prefix}output.weight"][0, :, :1] = torch.tensor(output)
    parameters["frozen.gate"][:] = gate
    x = np.array([[1.0, 1.0]])
    z = relu(x @ features)  # 1, 1, 1.5
    signs = dict(zip(heads, (1.0, gate, -gate), strict=True))
    q = sum(signs[name] * relu(z @ weight) @ output for name, (weight, output) in heads.items())
    for name in model.learned(parameters):
        parameters[name].requires_grad_()
    rows = torch.tensor(np.repeat(x, 4, axis=0), dtype=torch.float32)[None]
    found, hidden = logits(model, parameters, {}, rows, None)
    assert found[0, 0].tolist() == q[0].tolist()
    assert hidden["hidden2"][0, 0, :3].tolist() == relu(z @ heads[""][0])[0].tolist(), "the head that learns is seen"
    found[0, 0].sum().backward()
    # The features learn through all three heads, which share z; only one head learns.
    by_z = sum(signs[name] * weight @ (output * (z @ weight > 0).T) for name, (weight, output) in heads.items())
    by_features = x.T @ (by_z.T * (x @ features > 0))
    assert parameters["hidden1.weight"].grad[0, :, :3].tolist() == by_features.tolist()
    assert parameters["output.weight"].grad[0, :, 0].tolist() == relu(z @ heads[""][0])[0].tolist()
    assert all(value.grad is None for name, value in parameters.items() if name.startswith(FROZEN))


@pytest.fixture(scope="module")
def packed():
    return trained(pack(*AT), IMAGES)


def test_runs_that_change_at_different_times_equal_the_runs_alone_and_resumed(packed):
    """Stopped within the first task, at its end, and within the second: before, between and after the changes."""
    resumed = trained(pack(*AT), IMAGES, stops=[1, 1, 2])
    for k, alone in enumerate(pack(*AT)):
        assert not differing(packed.of(k), trained([alone], IMAGES).of(0)), "alone"
        assert not differing(packed.of(k), resumed.of(k)), "resumed"


def test_until_the_injection_the_bits_are_the_plain_run_s(packed):
    plain = trained(
        [run(seed, "prelu", {"scope": "layer"}, intervention=NO_INTERVENTION, **STREAM) for seed in range(3)], IMAGES
    )
    for k, at in enumerate(AT):
        own, others = packed.of(k), plain.of(k)
        same = own["loss"] == others["loss"]
        assert same[: int(min(at, 15)) + 1].all(), "the first loss after the injection is by the same outputs"
        assert at > 16 or not same[int(at) + 1 :].any()
    assert not [name for name in others if own[name].tobytes() != others[name].tobytes()]


def steps(at: float, **how):
    """A network and its parameters after each update."""
    stream, learner = assembled(pack(at, **how), IMAGES, CPU, False)
    task = stream.task(0)
    learner.begin(task, fresh=True)
    (chunk, *_) = task.chunks(Position(0, 0))
    network, tables = learner.network, learner._tables(chunk, learner.network.corrections(chunk.steps))
    for number in range(chunk.steps):
        learner._take(tables, number, 1)
        network.took(1)
        yield network, {name: value.clone() for name, value in network.parameters.items()}


SLOW = pytest.mark.slow


@pytest.mark.parametrize("optimizer", ["adam", "adamw", *(pytest.param(each, marks=SLOW) for each in ("sgd", "upgd"))])
def test_frozen_parts_stay_and_the_fresh_head_starts_again(optimizer):
    """Moments of 0 and a step count of 1: Adam's first step is then lr · sign of the gradient."""
    rate = {"lr": 0.01, "epsilon": 1e-12} if optimizer.startswith("adam") else {"lr": 0.01}
    decay = {"weight_decay": 0.5} if optimizer in ("adamw", "upgd") else {}
    taken = list(steps(2.0, optimizer={"name": optimizer, **rate, **decay}))
    (network, first), (_, changed), (_, after), *_, (_, last) = taken
    assert not any(name.startswith(FROZEN) for values in network.moments.values() for name in values)
    for name in ("hidden2.weight", "hidden2.bias", "output.weight", "hidden2.activation.slope"):
        assert torch.equal(changed[name], first[f"frozen.fresh.{name}"]), "a is b"
        assert torch.equal(changed[f"frozen.before.{name}"], last[f"frozen.before.{name}"])
        assert not torch.equal(first[f"frozen.before.{name}"], changed[f"frozen.before.{name}"])
        assert not torch.equal(after[name], changed[name])
    assert first["frozen.gate"].tolist() == [[0]]
    assert all(value["frozen.gate"].tolist() == [[1]] for value in (changed, after, last))
    if optimizer == "adam":
        moved = (after["output.weight"] - changed["output.weight"])[0, :, :10].abs()
        assert torch.allclose(moved[moved > 0], torch.tensor(0.01), rtol=1e-3)
        features = (after["hidden1.weight"] - changed["hidden1.weight"])[0].abs()
        assert (features[features > 0] - 0.01).abs().max() > 1e-3, "the features keep their moments and their count"


OTHERS = "l2", "shrink_and_perturb", "ewc", "fresh_each_task", "infer", "dash"


@pytest.mark.parametrize("other", ["redo", *(pytest.param(each, marks=SLOW) for each in OTHERS)])
def test_no_other_intervention_changes_frozen_parts(other):
    often = {"redo": {"every": 3, "strength": 0.6}}.get(other, {})
    members = {"plasticity_injection": {"at": 2}, other: often}
    settings = [f"intervention.{name}.{key}={value}" for name, own in members.items() for key, value in own.items()]
    small = ("benchmark=permuted_digits", "benchmark.tasks=2", "benchmark.images=64", "network.width=13", "seed=1")
    listed = tenants.trained(tenants.packs_of(*small, f"intervention=[{','.join(members)}]", *settings))[0]
    alone = tenants.trained(tenants.packs_of(*small, "intervention=plasticity_injection", "intervention.at=2"))[0]
    fresh = [name for name in listed if name.startswith("frozen.fresh.")]
    assert len(fresh) == 4
    assert not [name for name in fresh if listed[name] != alone[name]]
    assert listed["hidden2.weight"] != alone["hidden2.weight"]


def test_the_target_network_is_injected_at_the_same_update_with_the_same_draw():
    learner, chunks = begun(
        tenants.packs_of(*SMALL, "intervention=plasticity_injection", "intervention.at=11", "seed=1")
    )
    online, target = learner.network, learner.target
    for chunk in chunks:
        gate, before = target.parameters["frozen.gate"].item(), target.parameters["hidden2.weight"].clone()
        learner.advance(chunk)
        if online.updates >= 11 > online.updates - len(learner.epsilons):
            break
    assert gate == 0
    assert target.parameters["frozen.gate"].item() == online.parameters["frozen.gate"].item() == 1
    assert torch.equal(
        target.parameters["frozen.fresh.hidden2.weight"], online.parameters["frozen.fresh.hidden2.weight"]
    )
    assert before.shape == target.parameters["frozen.before.hidden2.weight"].shape


@SLOW
@pytest.mark.parametrize("words", [
    (*SAC, "optimizer.lr=1e-3"),
    (*BOTH, "agent.target_kl=0.0001", "agent.max_norm=0.5", "network.separate_value_trunk=true"),
    (*SMALL, "network=small_nature"),
])  # fmt: skip
def test_under_agents_a_packed_run_equals_the_run_alone_and_resumed(monkeypatch, words):
    there_are(monkeypatch)
    tenants.hold(*words, "intervention=plasticity_injection", "intervention.at=10", "seed=1,2", stops=[1, 2])


@SLOW
@needs_compiler
def test_compiled_sac_is_the_eager_one_to_rounding_and_the_same_alone_packed_and_resumed(monkeypatch):
    there_are(monkeypatch)
    words = (*SAC, "benchmark.tasks=1", "intervention=plasticity_injection", "intervention.at=10", "seed=1,2")
    compiled, eager = tenants.hold(*words, stops=[1], compiled=True), tenants.trained(tenants.packs_of(*words))
    for own, other in zip(compiled, eager, strict=True):
        weights = [[np.frombuffer(of[name], np.float32) for of in (own, other)] for name in own if name != "metrics"]
        assert max(np.abs(one - two).max() for one, two in weights) < 2e-6


@pytest.mark.parametrize(("words", "said"), [
    (("agent=rainbow", "benchmark=games", "head=softmoe"), "router of experts"),
    (("agent=sac", "benchmark=mujoco", "network=pixel_actor_critic"), "features and a head"),
    (("benchmark=classic_cycle", "agent=ppo", "network.separate_value_trunk=true", "activation=rrelu"), "separate"),
])  # fmt: skip
def test_networks_and_heads_that_cannot_be_copied_are_refused(words, said):
    with pytest.raises(ConfigError, match=said):
        runs_of(*words, "intervention=plasticity_injection")


def test_a_network_from_the_recipe_can_be_injected():
    """A `Traced` network: its halves are an encoder's."""
    model = classifier(OfTwo().changed(PlasticityInjection()), [ReLU()], (1, 8, 8), 10)
    parameters = model.start([0], CPU)
    assert {name for name in parameters if name.startswith("frozen.fresh.")} == {
        f"frozen.fresh.{layer}.{part}" for layer in ("hidden1", "output") for part in ("weight", "bias")
    }
    x = torch.rand(1, 4, 64, generator=torch.Generator().manual_seed(1))
    plain, _ = logits(classifier(OfTwo(), [ReLU()], (1, 8, 8), 10), parameters, {}, x, None)
    assert torch.equal(logits(model, parameters, {}, x, None)[0], plain)
