"""Settings that are typed and that nothing reads are named in a line each, and those that something reads are not."""

import pytest

from launch.command import resolve
from launch.runs.groups import COMPONENTS
from launch.runs.options import classes_of
from plasticity_lab.component import parameters

CATCH = ["benchmark=catch", "network=small_nature"]
EXPERTS = [*CATCH, "agent=rainbow", "head=softmoe", "head.experts=4"]
DQN = [*CATCH, "agent=dqn"]
PPO = ["benchmark=classic_cycle"]


def lines(*words):
    return [note for note in resolve(["schedule=smoke", *words]).notes if "It changes nothing." in note]


@pytest.mark.walk(4)
@pytest.mark.parametrize(
    ("setting", "common", "unread", "read"),
    [
        ("save_weights_every=5", [], ["save_weights=none"], ["save_weights=tasks"]),
        ("save_weights_every=5", [], ["save_weights=final"], []),
        ("tracking.project=mine", [], ["tracking=store"], ["tracking=auto"]),
        ("replay_memory_mib=3", [], [], [*CATCH, "agent=dqn"]),
        ("replay_memory_compressed=never", [], PPO, [*CATCH, "agent=dqn"]),
        ("replay_memory_minutes=null", [], PPO, [*CATCH, "agent=dqn"]),
        ("launch.processes=1", [], [], PPO),
        ("seed=0,1", ["stream_seed=1"], ["init_seed=2"], ["init_seed=null"]),
        ("agent.noise=0.3", DQN, [], ["agent.noisy=true"]),
        ("agent.support_high=20", DQN, ["agent.atoms=0"], ["agent.atoms=51"]),
        ("agent.noise_scope=batch", DQN, ["agent.noisy=false"], ["agent.noisy=true,false"]),
        ("intervention.apart=5", [*EXPERTS, "intervention=prune_experts"], ["intervention.count=1"], []),
        ("intervention.reset_experts.dormant=0.1", [*EXPERTS, "intervention=[reset_experts,redo]"],
         ["intervention.reset_experts.chosen=all"], ["intervention.reset_experts.chosen=dormant"]),
        ("benchmark.test_factors=3", PPO, ["benchmark.test_episodes=0"], ["benchmark.test_episodes=1"]),
        ("network.adapter_activation=false", PPO, ["network.adapter=false", "benchmark.bodies=[cartpole]"], []),
    ],
)  # fmt: skip
def test_what_nothing_reads_is_named_and_what_one_run_reads_is_not(setting, common, unread, read):
    key = setting.partition("=")[0]
    assert [line.partition(" ")[0] for line in lines(*common, *unread, setting)] == [key]
    assert read == [] or lines(*common, *read, setting) == []


def test_what_is_not_typed_is_not_named():
    assert lines() == lines(*EXPERTS, "head.slots=2") == lines("experiment=softmoe_figure4_games", "seed=0") == []


def test_declared_settings_are_settings_of_their_class():
    declared = {cls: cls.read_if for group in COMPONENTS for cls in classes_of(group) if cls.read_if}
    assert len(declared) >= 5
    for cls, read_if in declared.items():
        for setting, (other, reads) in read_if.items():
            assert {setting, other} <= parameters(cls).keys()
            assert callable(reads)


SHOCKS = ("benchmark=split_digits", "perturbation=shocks")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["benchmark.epochs=5"], "no epoch is shocked, since tasks of split_digits have 5 epochs"),
        (["benchmark.epochs=20"], "a task of split_digits has 2 shocks, and 1 will be applied and not measured"),
        (["benchmark.epochs=28"], "fewer than 9 epochs of the task follow"),
        (["benchmark.epochs=29"], None),
        (["benchmark.epochs=4", "perturbation.cycle=1"], "a task of split_digits has 4 shocks, and 4 will be applied"),
        (["benchmark.epochs=5", "benchmark.steps=1"], "have 1 epochs"),
    ],
)
def test_of_shocks_it_is_said_which_are_not_given_and_which_not_measured(words, said):
    notes = [note for note in resolve([*SHOCKS, *words]).notes if note.startswith("perturbation")]
    assert len(notes) == (said is not None)
    assert said is None or said in notes[0]


def test_a_sweep_leaves_out_what_has_no_experts_and_a_word_alone_is_refused():
    found = resolve(["intervention=none,reset_experts"])
    assert {run.science["intervention"]["name"] for run in found.runs} == {"none"}
    assert any("intervention=reset_experts does not go with head=flatten" in note for note in found.notes)
    both = resolve(
        ["intervention=none,prune_experts", "head=flatten,softmoe", "head.experts=3", "network=cnn_case_study"]
    )
    assert len(both.runs) == 3
    for words in (["intervention=prune_experts"], ["intervention=[redo,reset_experts]"]):
        with pytest.raises(Exception, match="head=softmoe, expert_choice and token_choice have"):
            resolve(words)
