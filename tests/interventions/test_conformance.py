"""What every intervention of conf/ keeps, whatever it does: on an MLP, a CNN, PPO's networks and value agents'."""

import functools

import numpy as np
import pytest
import torch

from plasticity_lab import component
from plasticity_lab.agents.supervised.step import log_likelihood
from plasticity_lab.component import build
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.changing import Changing
from plasticity_lab.interventions.now import Now, noting
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.others import Others
from plasticity_lab.randomness.device import run_keys
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.agents.ppo.packs import BOTH, begun, numbers, there_are
from tests.agents.value.packs import AGENTS, BY_AGENT
from tests.helpers.networks import classifier
from tests.helpers.packs import (
    CPU,
    choice,
    choices,
    differing,
    images,
    interventions_under,
    needs_compiler,
    run,
    trained,
)
from tests.tenants import packs as tenants

IMAGES = images(8, 61, 20)
STREAM = {"images": 61, "tasks": 3, "epochs": 2}
NETWORKS = {"mlp": {"width": 20}, "cnn": {"name": "cnn", "kernel": 3, "padding": "same", "channels": 4, "width": 8}}
SEEDS = (3, 1, 0)
BUSY = {
    "snr": {"strength": 0.5, "epsilon": 0.7, "min_age": 1, "min_count": 1},
    "continual_backprop": {"strength": 0.05, "maturity": 2},
    "ccbp": {"strength": 0.5, "every": 3},
    "redo": {"strength": 0.5, "every": 3},
    "selective_reinit": {"strength": 0.2, "every": 3},
    "reset_layers": {"every": 3, "layers": "all"},
    "hare_tortoise": {"strength": 0.5, "every": 3},
    "ewc_by_batch": {"batch": 4},
    "plasticity_injection": {"at": 5.0},
    **{
        name: {"strength": 0.5, "first": 2, "window": 3, "skipped": 1}
        for name in ("c_chain", "c_chain_dqn", "c_chain_discrete")
    },
}
"""Settings at which an intervention that is rarely active does something in the few updates of a test, and those of
VARIANTS."""
NEEDS = {"nap": {"norm": "layer"}}
"""Settings of the network that an intervention needs."""
VARIANTS = {"ewc_by_batch": "ewc"}
"""Cases beside the files of conf/: one of these with other settings, by which it computes another way."""
OPTIONS = (*interventions_under("supervised"), *VARIANTS)
NOT_PLAIN_AT_ZERO = {
    "selective_reinit": "weights without any utility are drawn again",
    "shrink_and_perturb": "the noise has a setting of its own",
    "weight_clipping": "its range would be empty; 0 is refused",
}
UNDER_PPO = pytest.mark.parametrize("name", [*interventions_under("ppo"), *VARIANTS])
DRAWN = [(name, AGENTS[number % len(AGENTS)]) for number, name in enumerate(OPTIONS)]
"""Each intervention under one of the value agents, in turn: what is slow is tested of these pairs."""
PAIRS = [
    pytest.param(option, agent, marks=() if (option, agent) in DRAWN else pytest.mark.slow)
    for option in OPTIONS
    for agent in AGENTS
]


@pytest.fixture(params=OPTIONS)
def name(request) -> str:
    return request.param


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    there_are(monkeypatch)


def busy(name: str) -> tuple[str, dict]:
    """An intervention's class, and settings at which it does something in a few updates."""
    target, settings = choice("intervention", VARIANTS.get(name, name))
    return target, settings | BUSY.get(name, {})


def lacks(option: str, agent: str) -> bool:
    """Whether an agent does not provide everything that an intervention requires."""
    return not component.load(busy(option)[0]).requires <= component.load(choice("agent", agent)[0]).provides


def counts_resets(name: str) -> bool:
    return "resets" in {column.name for column in component.load(busy(name)[0]).columns}


def runs_of(name: str, seeds: tuple[int, ...], network: str = "mlp", **stream) -> list[dict]:
    """Runs under an intervention, each with settings of its own where they may differ."""
    target, settings = busy(name)
    real = component.load(target).run_axis_settings()
    own = [settings | {key: settings[key] / (1 + seed / 10) for key in real} for seed in seeds]
    how = {"network": NETWORKS[network] | NEEDS.get(name, {}), **STREAM, **stream}
    return [run(seed, "prelu", intervention=(target, its), **how) for seed, its in zip(seeds, own, strict=True)]


@functools.cache
def packed(name: str, network: str):
    return trained(runs_of(name, SEEDS, network), IMAGES)


@pytest.mark.walk(1)
@pytest.mark.parametrize("network", NETWORKS)
def test_a_packed_run_equals_the_run_alone(name, network):
    assert not differing(packed(name, network).of(1), trained(runs_of(name, SEEDS[1:2], network), IMAGES).of(0))


@pytest.mark.walk(4)
def test_with_a_strength_of_zero_a_run_is_the_plain_run(name):
    target, settings = busy(name)
    if "strength" not in settings or name in NOT_PLAIN_AT_ZERO:
        pytest.skip(NOT_PLAIN_AT_ZERO.get(name, "it has no strength"))
    how = {"network": NETWORKS["mlp"] | NEEDS.get(name, {}), **STREAM}
    plain = trained([run(3, "prelu", **how)], IMAGES).agent.weights()
    idle = trained([run(3, "prelu", intervention=(target, settings | {"strength": 0.0}), **how)], IMAGES)
    weights = idle.agent.weights()
    assert all(torch.equal(weights[parameter], value) for parameter, value in plain.items())


@pytest.mark.walk(8)
@pytest.mark.parametrize("network", NETWORKS)
def test_a_run_resumed_in_the_middle_of_a_task_equals_the_undisturbed_one(name, network):
    whole, resumed = packed(name, network), trained(runs_of(name, SEEDS, network), IMAGES, stops=[1, 2, 3])
    for k in range(len(SEEDS)):
        assert not differing(whole.of(k), resumed.of(k))
    kept, again = whole.agent.network.kept, resumed.agent.network.kept
    assert all(torch.equal(kept[key], again[key]) for key in kept)
    if counts_resets(name):
        assert whole.agent.network.of_intervention()["resets"].any()


def own_words(name: str) -> list[str]:
    """A command's words for the settings of a busy intervention, and for those of the network that it needs."""
    groups = {"intervention": BUSY.get(name, {}), "network": NEEDS.get(name, {})}
    return [f"{group}.{key}={value}" for group, own in groups.items() for key, value in own.items()]


def words_of(name: str) -> list[str]:
    """A command's words for PPO on two bodies."""
    own = own_words(name)
    return [*BOTH, "benchmark.environment_steps=64", "agent.epochs=1", f"intervention={VARIANTS.get(name, name)}", *own]


@pytest.mark.walk(1)
@UNDER_PPO
def test_under_ppo_packed_alone_and_resumed_are_the_same(name):
    tenants.hold(*words_of(name), "seed=1,2", stops=[1, 2])


@pytest.mark.walk(6)
@UNDER_PPO
def test_only_what_is_active_changes(name):
    """While one of two bodies is trained, the other's layers, moments and what is kept of its units stand still."""
    if issubclass(component.load(busy(name)[0]), Changing):
        pytest.skip("a change of the network includes the heads of all bodies")
    learner, chunks = begun(tenants.packs_of(*words_of(name), "seed=0"))
    network = learner.network

    def all_of() -> dict[str, torch.Tensor]:
        return numbers(learner) | {f"kept {key}": value.clone() for key, value in network.kept.items()}

    before, idle = all_of(), [body for body in ("sliders", "chosen") if body != network.body]
    for chunk in chunks:
        learner.advance(chunk)
    after = all_of()
    moved = {key for key, value in after.items() if not torch.equal(value, before[key])}
    assert not {key for key in moved if any(f"{body}." in key for body in idle)}
    assert any(f"{network.body}." in key for key in moved)
    if counts_resets(name):
        assert network.of_intervention()["resets"].all()


def words_of_values(agent: str, name: str) -> list[str]:
    """A command's words for a value agent on two short tasks, with some 30 updates and a few copies of its target."""
    own = own_words(name)
    short = [
        "agent.min_history=20",
        "agent.target_period=15",
        "benchmark.environment_steps=60",
        "agent.update_period=3",
    ]
    return [*BY_AGENT[agent], *short, f"intervention={VARIANTS.get(name, name)}", *own]


@pytest.mark.walk(1)
@pytest.mark.parametrize(("option", "agent"), PAIRS)
def test_under_value_agents_packed_alone_and_resumed_are_the_same(option, agent):
    if lacks(option, agent):
        with pytest.raises(ConfigError, match=f"intervention={VARIANTS.get(option, option)}.*agent={agent}"):
            tenants.packs_of(*words_of_values(agent, option))
        return
    tenants.hold(*words_of_values(agent, option), "seed=1,2", stops=[2])


@pytest.mark.only(3)
@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("network", NETWORKS)
def test_compiled_a_run_is_the_same_alone_and_in_packs_of_several_widths(name, network):
    runs = runs_of(name, (3, 1, 0, 2, 4), network)
    alone = trained(runs[:1], IMAGES, compiled=True).of(0)
    for width in (2, 3, 5):
        assert not differing(alone, trained(runs[:width], IMAGES, compiled=True).of(0)), f"in a pack of {width}"


@pytest.mark.only(3)
@needs_compiler
@pytest.mark.slow
@UNDER_PPO
def test_compiled_under_ppo_a_run_is_the_same_alone_packed_and_resumed(name):
    tenants.hold(*words_of(name), "seed=1,2", compiled=True, stops=[1, 2])


@pytest.mark.only(3)
@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(("option", "agent"), DRAWN)
def test_compiled_under_value_agents_a_run_is_the_same_alone_packed_and_resumed(option, agent):
    if lacks(option, agent):
        pytest.skip("it is refused under these agents")
    tenants.hold(*words_of_values(agent, option), "seed=1,2", compiled=True, stops=[2])


class Coming:
    """The data of a task, of which every gradient is one."""

    def gradients(self, parameters, batch, most=None):
        """One batch."""
        yield {name: torch.ones_like(value) for name, value in parameters.items()}


def test_the_verbs_keep_the_shapes_and_the_run_axis(name):
    target, settings = busy(name)
    pack = [build("intervention", name, target, settings) for _ in range(3)]
    activation = build("activation", "prelu", *choice("activation", "prelu"))
    model = classifier(MLP(width=7, **NEEDS.get(name, {})), [activation] * 3, (1, 8, 8), 10)
    parameters = model.start([0, 1, 2], CPU)
    now = Now(model, parameters, on_run_axis(pack), {}, seeds=[0, 1, 2], log_likelihood=log_likelihood)
    state = pack[0].start(now)
    x, hidden = torch.ones(3, 4, 64), {unit.name: torch.ones(3, 4, 7) for unit in model.units}
    now = now._replace(
        state=state,
        x=x,
        outputs={"logits": torch.ones(3, 4, 10)},
        hidden=hidden,
        forward=lambda own, inputs: model.forward(own, on_run_axis([activation] * 3), inputs, None),
        loss=torch.ones(3, 4),
        divergence=lambda outputs, reference: (outputs["logits"] - reference["logits"]).square().sum(dim=2),
        second=x,
        keys=run_keys([0, 1, 2], "intervention"),
        count=torch.tensor(0),
    )
    shapes = {key: (value.shape, value.dtype) for key, value in state.items()}
    assert all(shape[0] == 3 for shape, _ in shapes.values())
    penalty, noted = noting(pack[0].penalty(now))
    assert penalty.shape == (3,)
    assert penalty.dtype == torch.float32
    assert all(len(value) == 3 for value in noted.values())
    moments = {"first": {key: torch.zeros_like(value) for key, value in parameters.items()}}
    gradients = {key: torch.ones_like(value) for key, value in parameters.items()}
    before = {key: value.clone() for key, value in parameters.items()}
    now = now._replace(moments=moments, gradients=gradients, noted=noted, before=before)
    state = pack[0].after_step(now)
    state = pack[0].every_n_updates(now._replace(state=state, updates=pack[0].every or 1))
    state = pack[0].before_task(now._replace(state=state, task=1, coming=Coming()))
    batch = torch.ones(3, 4, 64), torch.zeros(3, 4, dtype=torch.int64)
    state = pack[0].after_task(now._replace(state=state, examples=lambda most: iter([batch])))
    assert {key: (value.shape, value.dtype) for key, value in state.items()} == shapes
    measured = pack[0].measured(state)
    assert measured.keys() == {column.of for column in pack[0].columns}
    assert all(value.shape == (3,) for value in measured.values())


@pytest.mark.walk(20)
@pytest.mark.parametrize(("width", "optimizer"), [*((91, each) for each in choices("optimizer")), (1, "adam")])
def test_the_padding_of_weights_stays_zero(name, width, optimizer):
    """The classifier is stored with twelve columns for ten classes; one unit of 64 inputs without padding."""
    network, activation = {"width": width, **NEEDS.get(name, {})}, choice("activation", "relu")
    how = {"network": network, "optimizer": {"name": optimizer}, "intervention": busy(name)}
    refused = build("intervention", name, *busy(name)).objection(
        Others(
            {
                "optimizer": {optimizer: build("optimizer", optimizer, *choice("optimizer", optimizer))},
                "head": {"flatten": build("head", "flatten", *choice("head", "flatten"))},
                "network": {"mlp": MLP(**network)},
                "activation": {"relu": build("activation", "relu", *activation)},
            }
        )
    )
    if refused:
        pytest.skip(refused)
    packed = trained([run(seed, **how, **STREAM | {"tasks": 2}) for seed in (0, 1)], IMAGES)
    weights = packed.agent.weights()
    for layer in packed.agent.network.model.design.layers:
        for part in ("weight", "bias"):
            assert not weights[f"{layer.name}.{part}"][..., layer.outputs :].any()
    assert weights["hidden1.weight"].shape == (2, 64, width)
    assert weights["output.weight"].shape == (2, width, 12)
    assert np.isfinite(packed.measured.of(0)["loss"]).all()
