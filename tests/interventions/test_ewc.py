"""The Fisher information in closed form, what becomes of it over tasks, and what is held."""

import numpy as np
import pytest
import torch

from launch.command import resolve
from plasticity_lab.agents.evenly_spread import evenly_spread
from plasticity_lab.agents.ppo.policy import log_probability
from plasticity_lab.agents.supervised.step import log_likelihood
from plasticity_lab.assembly import assembled
from plasticity_lab.benchmarks.bodies.base import Bodies
from plasticity_lab.component import Chosen, build, load
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.ewc import EWC, squared_mean_gradient
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.networks.network import Design, Network
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.agents.ppo.packs import BOTH, SMALL, begun, there_are
from tests.helpers.networks import classifier, one_by_one
from tests.helpers.packs import CPU, choice, differing, images, needs_compiler, needs_kernels, run, trained
from tests.tenants.packs import BODIES, packs_of

CLASS, _ = choice("intervention", "ewc")
IMAGES = images(8, 61, 20)
STREAM = {"images": 61, "tasks": 3, "epochs": 2}
INPUTS, CLASSES = 6, 4


class OneLayer(Network):
    """Softmax of one linear map."""

    init = "default"

    def design(self, bodies, activation):
        return Design([StackedLinear("output", INPUTS, CLASSES)], [], {"logits": "output"})

    def forward(self, design, parameters, x_KBD, activate, body):
        return {"logits": design.layers[0](parameters, x_KBD)}


def seen(pack, x, labels, network=None):
    """What EWC sees of examples (K, B, D) when a task ends."""
    activation = build("activation", "relu", *choice("activation", "relu"))
    model = classifier(network or OneLayer(), [activation] * len(pack), (1, 1, INPUTS), CLASSES)
    parameters = model.start(list(range(len(pack))), CPU)
    now = Now(model, parameters, on_run_axis(pack), {}, log_likelihood=log_likelihood)
    now = now._replace(activation=on_run_axis([activation] * len(pack)), examples=lambda most: [(x, labels)])
    return now._replace(state=pack[0].start(now))


def test_of_a_linear_softmax_model_it_is_the_closed_form():
    """log p_y has the gradient x_i (1[o = y] − p_o) by W_io: so F_io is the mean of x_i² (1[o = y] − p_o)²."""
    pack = [EWC(), EWC()]
    x = torch.from_numpy(host_stream(0, "x").normal(size=(2, 90, INPUTS)).astype(np.float32))
    labels = torch.from_numpy(host_stream(0, "y").integers(0, CLASSES, (2, 90)))
    now = seen(pack, x, labels)
    state = pack[0].after_task(now)
    for k in range(2):
        weight, bias = (now.parameters[f"output.{part}"][k].double().numpy() for part in ("weight", "bias"))
        logits = x[k].double().numpy() @ weight + bias
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        off = (np.eye(CLASSES)[labels[k].numpy()] - p) ** 2
        expected = (x[k].double().numpy() ** 2).T @ off / 90
        np.testing.assert_allclose(state["fisher output.weight"][k], expected, rtol=1e-4)
        np.testing.assert_allclose(state["fisher output.bias"][k, 0], off.mean(axis=0), rtol=1e-4)


def test_two_opposite_gradients_do_not_cancel():
    """The same example twice with p = (½, ½, 0, 0) and both labels: a batch's gradient is 0, and its square too."""
    pack = [EWC()]
    x, labels = torch.full((1, 2, INPUTS), 2.0), torch.tensor([[0, 1]])
    now = seen(pack, x, labels)
    now.parameters["output.weight"].zero_()
    now.parameters["output.bias"][:] = torch.tensor([0.0, 0.0, -200.0, -200.0])
    fisher = pack[0].after_task(now)["fisher output.weight"]
    expected = torch.tensor([2.0**2 * 0.25] * 2 + [0.0] * 2).expand(1, INPUTS, CLASSES)
    torch.testing.assert_close(fisher, expected)
    of_a_batch = EWC(batch=2)
    assert not of_a_batch.after_task(now)["fisher output.weight"].any()


def test_of_batches_the_mean_gradient_is_squared():
    """Of a linear softmax model that is the mean of x_i (1[o = y] − p_o) over three examples, squared; the tenth is a
    batch by itself, and where the agent cuts what it tells makes no difference, nor does another run in the pack.
    """
    x = torch.from_numpy(host_stream(0, "x").normal(size=(2, 10, INPUTS)).astype(np.float32))
    labels = torch.from_numpy(host_stream(0, "y").integers(0, CLASSES, (2, 10)))
    now = seen([EWC(batch=3), EWC(batch=3)], x, labels)
    state = EWC(batch=3).after_task(now)
    for k in range(2):
        weight, bias = (now.parameters[f"output.{part}"][k].double().numpy() for part in ("weight", "bias"))
        own = x[k].double().numpy()
        p = np.exp(own @ weight + bias)
        off = np.eye(CLASSES)[labels[k].numpy()] - p / p.sum(axis=1, keepdims=True)
        means = [own[at : at + 3].T @ off[at : at + 3] / len(off[at : at + 3]) for at in (0, 3, 6, 9)]
        np.testing.assert_allclose(state["fisher output.weight"][k], np.mean(np.square(means), axis=0), rtol=1e-3)
    cut = now._replace(examples=lambda most: [(x[:, :5], labels[:, :5]), (x[:, 5:], labels[:, 5:])])
    assert torch.equal(EWC(batch=3).after_task(cut)["fisher output.weight"], state["fisher output.weight"])
    alone = seen([EWC(batch=3)], x[1:].clone(), labels[1:].clone())
    own = {name: value[1:].clone() for name, value in now.parameters.items()}
    alone = alone._replace(parameters=own, activation={})
    assert torch.equal(EWC(batch=3).after_task(alone)["fisher output.weight"][0], state["fisher output.weight"][1])


def test_earlier_tasks_decay_and_the_anchor_moves():
    """F after two tasks is γ F₁ + F₂, each run with its own γ; θ* is where the second task left it."""
    decays = [1.0, 0.0, 0.25]
    pack = [EWC(decay=decay) for decay in decays]
    x = torch.from_numpy(host_stream(0, "x").normal(size=(3, 9, INPUTS)).astype(np.float32))
    labels = torch.arange(27).view(3, 9) % CLASSES
    now = seen(pack, x, labels, MLP(width=5))
    first = pack[0].after_task(now)
    assert not now.state["fisher output.weight"].any()
    torch.testing.assert_close(first["anchor output.weight"], now.parameters["output.weight"])
    for value in now.parameters.values():
        value.mul_(1.5)
    fresh = pack[0].after_task(now)
    both = pack[0].after_task(now._replace(state=first))
    for name, value in now.parameters.items():
        for k, decay in enumerate(decays):
            expected = decay * first[f"fisher {name}"][k] + fresh[f"fisher {name}"][k]
            torch.testing.assert_close(both[f"fisher {name}"][k], expected)
        assert torch.equal(both[f"anchor {name}"], value)


def test_what_a_task_adds_does_not_decay_with_the_tasks_before():
    """x = 2 with p = (½, ½, 0, 0): (2 · ½)² = 1 by each weight of the first two classes. After one task F is 1 whatever
    γ is, after a second 1 + γ, after a third 1 + γ + γ².
    """
    pack = [EWC(decay=decay) for decay in (1.0, 0.5, 0.0)]
    now = seen(pack, torch.full((3, 1, INPUTS), 2.0), torch.zeros(3, 1, dtype=torch.int64))
    now.parameters["output.weight"].zero_()
    now.parameters["output.bias"][:] = torch.tensor([0.0, 0.0, -200.0, -200.0])
    for expected in ([1, 1, 1], [2, 1.5, 1], [3, 1.75, 1]):
        now = now._replace(state=pack[0].after_task(now))
        assert now.state["fisher output.weight"][:, 0, 0].tolist() == expected


@pytest.mark.parametrize(("half", "factor"), [(False, 2.0), (True, 1.0)])
def test_value_and_gradient_are_the_closed_form(half, factor):
    """λ Σ F (θ − θ*)² has the gradient 2 λ F (θ − θ*); before the first task has ended, none."""
    strengths = [50.0, 0.0, 10.0]
    pack = [EWC(strength, half=half) for strength in strengths]
    x = torch.from_numpy(host_stream(0, "x").normal(size=(3, 9, INPUTS)).astype(np.float32))
    now = seen(pack, x, torch.arange(27).view(3, 9) % CLASSES, MLP(width=5))
    moved = now._replace(parameters={name: value + 0.1 for name, value in now.parameters.items()})
    assert not pack[0].penalty(moved).any()
    moved = moved._replace(state=pack[0].after_task(now))
    penalty = pack[0].penalty(moved)
    gradients = torch.func.grad(lambda values: pack[0].penalty(moved._replace(parameters=values)).sum())(
        moved.parameters
    )
    for k, strength in enumerate(strengths):
        total = sum(float(moved.state[f"fisher {name}"][k].sum()) for name in now.parameters) * 0.1**2
        assert float(penalty[k]) == pytest.approx(strength * total * factor / 2, rel=1e-3)
        for name, gradient in gradients.items():
            expected = factor * strength * moved.state[f"fisher {name}"][k] * 0.1
            torch.testing.assert_close(gradient[k], expected, rtol=1e-3, atol=1e-6)


def test_it_holds_a_network_where_the_task_before_left_it():
    strengths = [0.0, 1e5]
    runs = [run(1, intervention=(CLASS, {"strength": one}), **{**STREAM, "tasks": 2}) for one in strengths]
    packed = trained(runs, IMAGES)
    kept, parameters = packed.agent.network.kept, packed.agent.network.parameters
    first = trained([run(1, **{**STREAM, "tasks": 1})], IMAGES).agent.weights()
    drift = sum(
        (kept[f"fisher {name}"][:1] * (value - first[name]).square()).flatten(1).sum(dim=1)
        for name, value in parameters.items()
    )
    assert drift[1] < 0.1 * drift[0]
    plain = trained([run(1, **{**STREAM, "tasks": 2})], IMAGES)
    assert not differing(packed.of(0), plain.of(0))  # strength 0 is no intervention


MODES = [
    pytest.param({}, id="eager"),
    pytest.param({"compiled": True}, id="compiled", marks=[needs_compiler, pytest.mark.slow]),
    pytest.param(
        {"compiled": True, "kernels": True}, id="kernels", marks=[needs_compiler, needs_kernels, pytest.mark.slow]
    ),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("head", ["tokenised", "softmoe"])
def test_one_layer_for_all_tokens_is_held_by_the_gradients_of_examples(mode, head):
    """A backward pass for each example of the last task, with the weights that it left."""
    network = {"name": "small_nature", "hidden": 6, "convolutions": 1}
    ewc = (CLASS, {"decay": 0.0, "examples": 20})
    runs = [run(seed, network=network, head=head, intervention=ewc, **{**STREAM, "tasks": 2}) for seed in (0, 1)]
    learner = trained(runs, IMAGES, **mode).agent
    kept, model = learner.network.kept, learner.network.model
    ((x, labels),) = learner._seen(20)
    given = dict(learner.network.parameters), learner.network.settings["activation"], None, x, labels, log_likelihood
    for name, expected in one_by_one(model, *given).items():
        assert expected.any()
        scale = float(expected.max())
        torch.testing.assert_close(kept[f"fisher {name}"] * 20, expected, rtol=2e-3, atol=1e-5 * scale)


@pytest.mark.parametrize(
    ("words", "version"),
    [
        (["head=tokenised"], 2),
        (["head=tokenised", "intervention.batch=2"], 1),
        (["head=softmoe", "head.normalised=true"], 1),
        (["head=softmoe"], 1),
        ([], 1),
    ],
)
def test_only_runs_with_another_fisher_information_than_before_have_another_id(words, version):
    (found,) = resolve(["benchmark=split_digits", "network=small_nature", "intervention=ewc", "seed=0", *words]).runs
    chosen = {address: Chosen(load(target), found.settings(address)) for address, target in found.targets.items()}
    assert EWC.version_beside(found.settings("intervention"), chosen) == version


def test_no_more_examples_are_taken_than_wanted_and_from_all_of_the_task():
    assert evenly_spread(10, 4, CPU).tolist() == [0, 2, 5, 7]
    assert evenly_spread(3, 4, CPU).tolist() == [0, 1, 2]
    stream, learner = assembled([run(seed, **STREAM) for seed in (0, 1)], IMAGES, CPU, False)
    learner.begin(stream.task(0), fresh=True)
    (part,) = learner._seen(30)
    assert part[0].shape == (2, 30, 64)
    assert torch.equal(part[1], learner.labels[:, evenly_spread(61, 30, CPU)])


def plain_log_probability(outputs, actions):
    """Of a Gaussian policy π(a | s), as PyTorch has it."""
    policy = torch.distributions.Normal(outputs["policy"], outputs["log_std"].exp())
    return policy.log_prob(actions).sum(dim=-1)


@pytest.mark.sample(1)
def test_under_ppo_it_is_that_of_the_actions_of_the_last_rollout(monkeypatch):
    """A backward pass for each action that was taken: by the trunk and the policy of the active body. The value's head
    and the idle body's parts are not held.
    """
    there_are(monkeypatch)
    runs = packs_of(*BOTH, "intervention=ewc", "intervention.examples=16", "seed=0,1")
    learner, chunks = begun(runs)
    for chunk in chunks:
        learner.advance(chunk)
    stream = assembled(runs, Bodies(learner.bodies), CPU, False)[0]
    before = {name: value.clone() for name, value in learner.network.kept.items()}
    ((x, actions),) = learner._seen(16)
    assert torch.equal(x[:, 1], torch.from_numpy(np.asarray(learner._rollout["x"]))[:, 2])
    network = learner.network
    active = network.model.active(network.parameters, "sliders")
    expected = one_by_one(network.model, active, {}, "sliders", x, actions, plain_log_probability)
    learner.end(stream.task(0))
    for name, value in network.kept.items():
        kind, parameter = name.split(" ")
        if parameter.startswith("chosen."):
            assert torch.equal(value, before[name])
        elif kind == "anchor":
            assert torch.equal(value, network.parameters[parameter])
        else:
            torch.testing.assert_close(value, expected[parameter] / 16, rtol=1e-3, atol=1e-6)
            assert bool(value.any()) is not parameter.startswith("sliders.value.")


def test_without_it_ppo_keeps_no_rollout():
    learner, (chunk, *_) = begun(packs_of(*SMALL, "seed=0"))
    learner.advance(chunk)
    assert learner.state()["rollout"] == {}


def test_on_pixels_under_ppo_it_is_one_backward_pass_for_each_example():
    words = ("agent=ppo", "benchmark=catch", "benchmark.tasks=2", "benchmark.environment_steps=16", "agent.rollout=16",
             "agent.minibatches=2", "agent.epochs=1", "network=small_nature", "network.hidden=8", "intervention=ewc",
             "intervention.examples=6", "seed=0,1")  # fmt: skip
    learner, chunks = begun(packs_of(*words))
    for chunk in chunks:
        learner.advance(chunk)
    network = learner.network
    now = network._now(task=0, examples=learner._seen, log_likelihood=log_probability)
    ((x, actions),) = learner._seen(6)
    assert x.dtype == torch.float32
    assert x.max() == 1
    each = [squared_mean_gradient(now, x[:, at : at + 1], actions[:, at : at + 1]) for at in range(6)]
    found = EWC(examples=6).after_task(now)
    for name in network.parameters:
        expected = torch.stack([own[name] for own in each]).mean(dim=0)
        torch.testing.assert_close(found[f"fisher {name}"], expected)


def test_an_agent_that_tells_no_examples_refuses_it():
    with pytest.raises(ConfigError) as caught:
        resolve([*BODIES, "intervention=ewc"])
    for part in ("intervention=ewc", "a finished task's examples", "agent=actor_critic", "ppo or ppo_cleanrl"):
        assert part in str(caught.value)
