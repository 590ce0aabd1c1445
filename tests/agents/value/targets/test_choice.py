"""target=… among the choices: what is refused, what it costs, packs of different settings, and a class from outside."""

from dataclasses import replace
from pathlib import Path

import pytest

from launch.command import resolve
from plasticity_lab.agents.value.targets import munchausen
from plasticity_lab.agents.value.targets.auto import Auto
from plasticity_lab.agents.value.targets.double import DoubleQLearning
from plasticity_lab.agents.value.targets.munchausen import Munchausen
from plasticity_lab.agents.value.targets.q import QLearning
from plasticity_lab.agents.value.targets.target import Target
from plasticity_lab.assembly import agent_of, cost_of, resources
from plasticity_lab.errors import ConfigError, OwnClassError
from tests.agents.value.packs import BY_AGENT, BY_KERNELS, SMALL
from tests.helpers.packs import needs_compiler, needs_kernels
from tests.tenants.packs import differing, hold, packs_of, trained

SHORT = ("benchmark.tasks=1", "benchmark.environment_steps=180")
UNEVEN = ("network.width=13", "agent.batch=7", "target=munchausen")
"""A width and a batch that leave incomplete vectors."""
DIFFERENT = ("target.alpha=0.9,0.5", "target.tau=0.2,0.9", "target.l0=-1,-0.001")
"""Eight runs in one pack."""
AGENTS = {
    "values": (*SMALL, *UNEVEN),
    "dueling": (*SMALL, *UNEVEN, "agent.dueling=true", "agent.n_step=3"),
    "distributions": (*BY_AGENT["rainbow_lite"], *UNEVEN),
    "noisy": (*BY_AGENT["rainbow"], *UNEVEN, "agent.double=false", "activation=rrelu"),
}


@pytest.mark.walk(2)
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["agent=dqn", "target=double"], "target=double.*agent=dqn: agent.double is false.*agent.double=true"),
        (["agent=rainbow", "target=q"], "target=q.*agent=rainbow: agent.double is true.*agent.double=false"),
        (["agent=dqn", "agent.double=true", "target=munchausen"], "target=munchausen.*agent.double=false"),
        (["agent=ppo", "target=munchausen"], "target=munchausen.*agent=ppo.*agent=der or dqn"),
        (["agent=ppo", "target=q"], "target=q.*agent=ppo"),
        (["benchmark=permuted_digits", "target=double"], "target=double.*agent=supervised"),
        (["benchmark=split_digits", "target=q"], "target=q.*agent=experience_replay"),
        (["benchmark=mujoco_cycle", "agent=sac", "target=munchausen"], "target=munchausen.*agent=sac"),
        (["agent=dqn", "target=munchausen", "target.tau=0"], "target.tau is 0.*above 0"),
        (["agent=dqn", "target=munchausen", "target.l0=1"], "target.l0 is 1.*at most 0"),
        (["agent=dqn", "target=munchausen", "target.alpha=2"], "target.alpha is 2.*at most 1"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_queued(words, named):
    with pytest.raises(ConfigError, match=named):
        resolve(["benchmark=catch", *words] if not any("benchmark=" in word for word in words) else words)


@pytest.mark.sample(2)
def test_a_sweep_goes_on_without_the_target_that_contradicts_the_agent():
    found = resolve(["agent=dqn,rainbow", "target=q,double,munchausen", "benchmark=catch"])
    names = [(run.name("agent"), run.name("target")) for run in found.runs]
    assert names == [("dqn", "q"), ("dqn", "munchausen"), ("rainbow", "double")]
    assert len([note for note in found.notes if "Left out of the sweep: target=" in note]) == 3


@pytest.mark.sample(2)
def test_auto_is_no_part_of_an_id_and_other_targets_are():
    words = ["agent=dqn", "benchmark=catch", "seed=0"]
    plain, auto, q, other, warmer = (
        resolve([*words, *more]).runs[0].id
        for more in ([], ["target=auto"], ["target=q"], ["target=munchausen"], ["target=munchausen", "target.tau=0.1"])
    )
    assert plain == auto
    assert len({auto, q, other, warmer}) == 4


@pytest.mark.parametrize(
    ("words", "target", "passes"),
    [
        (SMALL, QLearning, 1),
        ((*SMALL, "agent.double=true"), DoubleQLearning, 2),
        ((*SMALL, "target=munchausen"), Munchausen, 2),
    ],
)
def test_an_update_costs_three_passes_and_those_of_its_target(words, target, passes):
    (run,) = packs_of(*words, "seed=0")
    assert type(run.component("target", Target).beside(agent_of(run))) is target
    (plain,) = packs_of(*SMALL, "seed=0")
    flops, of_plain = (cost_of(each, resources(Path())(each)).flops for each in (run, plain))
    assert 4 * flops == (3 + passes) * of_plain


def test_runs_that_are_older_than_the_group_have_the_target_of_their_agent():
    for words, target in ((SMALL, QLearning), (BY_AGENT["rainbow"], DoubleQLearning)):
        (run,) = packs_of(*words, *SHORT, "seed=0")
        science, targets = (
            {group: value for group, value in of.items() if group != "target"} for of in (run.science, run.targets)
        )
        old = replace(run, science=science, targets=targets)
        assert not differing(trained([run])[0], trained([old])[0]), target


@pytest.mark.sample(2)
@pytest.mark.parametrize("agent", AGENTS)
def test_packed_alone_and_resumed_are_the_same_for_different_settings(agent):
    hold(*AGENTS[agent], *SHORT, *DIFFERENT, "seed=3", stops=[1])


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("how", [{"compiled": True}, pytest.param(BY_KERNELS, marks=needs_kernels)], ids=str)
def test_so_they_are_compiled_and_by_kernels(agent, how):
    hold(*AGENTS[agent], *SHORT, *DIFFERENT, "seed=3", stops=[1], **how)


@pytest.mark.sample(1)
def test_the_same_class_from_a_folder_outside_has_the_numbers_of_the_member(tmp_path, monkeypatch):
    (tmp_path / "our_munchausen.py").write_text(Path(munchausen.__file__).read_text())
    (tmp_path / "conf" / "target").mkdir(parents=True)
    (tmp_path / "conf" / "target" / "ours.yaml").write_text("_target_: our_munchausen.Munchausen\nalpha: 0.9\n")
    monkeypatch.syspath_prepend(tmp_path)
    words = (*SMALL, *SHORT, "target.tau=0.03,0.4", "seed=0,1")
    ours = packs_of(f"hydra.searchpath=[file://{tmp_path / 'conf'}]", *words, "target=ours")
    theirs = packs_of(*words, "target=munchausen")
    assert [run.targets["target"] for run in ours] == ["our_munchausen.Munchausen"] * 4
    for mine, of_member in zip(trained(ours), trained(theirs), strict=True):
        assert not differing(mine, of_member)


class Broadcast(QLearning):
    """Forgets the run axis."""

    def target(self, inputs):
        return super().target(inputs)[0]


class Elsewhere(QLearning):
    passes = ("tomorrow",)


@pytest.mark.parametrize(
    ("target", "named"),
    [
        (Broadcast, r"Broadcast.target returns \(8,\); it must return \(2, 8\)"),
        (Elsewhere, "Elsewhere names 'tomorrow'"),
    ],
)
def test_a_class_that_breaks_the_contract_is_named(target, named, monkeypatch):
    monkeypatch.setattr(Auto, "beside", lambda self, agent: target())
    with pytest.raises(OwnClassError, match=named):
        trained(packs_of(*SMALL, *SHORT, "seed=0,1"))
