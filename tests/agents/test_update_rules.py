"""Update rules under every kind of agent, in every mode: a run is the same alone, packed and resumed."""

from pathlib import Path

import pytest

from launch.runs.desk import Misfit
from plasticity_lab.agents.sac.learner import SACLearner
from plasticity_lab.assembly import assembled, cost_of, resources
from plasticity_lab.environments import bodies
from plasticity_lab.stacking.trac_adam import TRACAdam
from plasticity_lab.stacking.upgd import UPGD
from tests.agents.ppo.packs import BOTH
from tests.agents.sac.packs import SMALL as SAC
from tests.agents.value.packs import SMALL as DQN
from tests.agents.value.test_heads import words_of
from tests.helpers.made_up_bodies import CHOSEN, SLIDERS
from tests.helpers.packs import CPU, needs_compiler, needs_kernels
from tests.helpers.sweeps import runs_of
from tests.tenants.packs import differing, hold, packs_of, trained

RULES = {
    "upgd": ("optimizer=upgd", "optimizer.sigma=0.01,0.1", "optimizer.utility_decay=0.9"),
    "upgd, local, not protecting": ("optimizer=upgd", "optimizer.lr=0.01,0.001", "optimizer.protecting=false",
                                    "optimizer.scope=local"),
    "adaupgd": ("optimizer=adaupgd", "optimizer.utility_decay=0.9,0.99", "optimizer.sigma=0.1"),
    "kron": ("optimizer=kron", "optimizer.factor_lr=0.1,0.5", "optimizer.lr=0.01"),
    "muon": ("optimizer=muon", "optimizer.momentum=0.5,0.95", "optimizer.adam_share=0.1"),
    "trac_adam": ("optimizer=trac_adam", "optimizer.scale=1e-3,1e-5"),
    "trac_adamw": ("optimizer=trac_adamw", "optimizer.weight_decay=0.1,0.5", "optimizer.scale=1e-3"),
    "trac_sgd": ("optimizer=trac_sgd", "optimizer.momentum=0.5,0.9", "optimizer.scale=1e-3"),
}  # fmt: skip
"""Two runs that differ in settings on the run axis."""
DIGITS = ("benchmark=permuted_digits", "benchmark.tasks=2", "benchmark.images=45", "benchmark.batch_size=9",
          "benchmark.eval_images=20", "benchmark.epochs=2", "network.width=13")  # fmt: skip
AGENTS = {
    "supervised": DIGITS,
    "supervised, reset": (*DIGITS, "optimizer.reset=task"),
    "supervised, fresh": (*DIGITS, "intervention=fresh_each_task"),
    "ppo": (*BOTH, "network.width=13"),
    "dqn": (*(word for word in DQN if "optimizer" not in word), "network.width=13", "benchmark.tasks=1"),
    "sac": (*SAC, "network.width=13", "benchmark.tasks=1", "benchmark.environment_steps=100"),
    "rainbow, experts": (*(word for word in words_of("softmoe", "per_conv") if "optimizer" not in word),
                         "benchmark.tasks=1"),
}  # fmt: skip
SLOW_PAIRS = {(rule, agent) for rule in RULES for agent in AGENTS if agent != "supervised" or rule == "kron"} - {
    ("upgd", "ppo"), ("adaupgd", "sac"), ("trac_adam", "dqn"), ("trac_adamw", "rainbow, experts"),
    ("trac_adam", "supervised, reset"), ("trac_sgd", "supervised, fresh"), ("trac_adamw", "ppo"),
    ("upgd", "rainbow, experts"),
}  # fmt: skip
PAIRS = [
    pytest.param(rule, agent, marks=pytest.mark.slow if (rule, agent) in SLOW_PAIRS else ())
    for rule in RULES
    for agent in AGENTS
]


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    for body in (SLIDERS, CHOSEN):
        monkeypatch.setitem(bodies.BODIES, body.name, body)


@pytest.mark.walk(3)
@pytest.mark.parametrize(("rule", "agent"), PAIRS)
def test_packed_alone_and_resumed_are_the_same(rule, agent):
    hold(*AGENTS[agent], *RULES[rule], "seed=1", stops=[1, 1])


@pytest.mark.slow
@needs_compiler
@needs_kernels
@pytest.mark.parametrize("kernels", [False, True], ids=["compiled", "kernels"])
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("rule", RULES)
def test_compiled_so_they_are(rule, agent, kernels):
    """In packs of widths that leave vectors incomplete, with runs of other settings; and resumed."""
    two = packs_of(*AGENTS[agent], *RULES[rule], "seed=range(4)")
    how = {"compiled": True, "kernels": kernels}
    alone = trained(two[:1], **how)[0]
    for width in (2, 3, 7):
        assert not differing(alone, trained(two[:width], **how)[0]), f"in a pack of {width}"
    assert not differing(alone, trained([two[5], two[0], two[6]], stops=[1], **how)[1]), "resumed"


@pytest.mark.walk(1)
@pytest.mark.parametrize("optimizer", ["trac_adam", "trac_adamw", "trac_sgd"])
def test_trac_refuses_interventions_that_change_parameters_in_place(optimizer):
    words = ("benchmark=permuted_digits", f"optimizer={optimizer}")
    with pytest.raises(Misfit, match=rf"optimizer={optimizer} does not go with intervention=redo: .* in place"):
        runs_of(*words, "intervention=redo")
    with pytest.raises(Misfit, match=r"intervention=.*redo"):
        runs_of(*words, "intervention=[l2_init,redo]")
    for fits in ("none", "l2_init", "[l2,spectral]", "ewc", "fresh_each_task"):
        assert len(runs_of(*words, f"intervention={fits}")) == 1


def test_the_actors_own_rate_reaches_a_rule():
    """SAC gives the actor shallow copies of the optimizers with another rate."""
    runs = packs_of(*AGENTS["sac"], "optimizer=trac_adam", "agent.actor_lr=0.25", "optimizer.lr=0.01", "seed=0")
    _, learner = assembled(runs, resources(Path())(runs[0]), CPU, False)
    assert isinstance(learner, SACLearner)
    networks = learner.learning.networks
    assert {name: float(each.settings["optimizer"]["lr"]) for name, each in networks.items()} == {
        "actor": 0.25, "critic1": 0.01, "critic2": 0.01,
    }  # fmt: skip
    assert len({id(each.rule["tuners"]["scale"]) for each in networks.values()}) == 3


def test_a_plan_prices_the_rules_memory_and_operations():
    runs = [packs_of(*DIGITS, f"optimizer={name}", "seed=0")[0] for name in ("adam", "upgd", "trac_adam")]
    adam, upgd, trac = (cost_of(run, resources(Path())(run)) for run in runs)
    for cost, kind in ((upgd, UPGD), (trac, TRACAdam)):
        assert cost.flops - adam.flops == kind.operations * adam.parameters > 0
        assert cost.memory[0].bytes - adam.memory[0].bytes == 4 * kind.copies * adam.parameters > 0
