"""Settings that some choices of a sweep lack: they are set for the others, said once, and change no other run."""

import pytest

from launch.command import asked, resolve
from launch.runs import arguments, requests
from plasticity_lab.errors import ConfigError

pytestmark = pytest.mark.sample(7)

EXPERTS = ("agent=rainbow", "benchmark=catch", "network=small_nature")


def found(*words):
    resolved = resolve(["schedule=smoke", *words])
    return resolved.runs, resolved.notes


@pytest.mark.walk(2)
@pytest.mark.parametrize(
    ("common", "choices", "setting", "of"),
    [
        (["benchmark=split_digits"], "perturbation=shocks,none", "perturbation.cycle=2", ["shocks"]),
        ([], "activation=leaky_relu,relu,elu", "activation.negative_slope=0.3", ["leaky_relu"]),
        ([], "activation=glob(*)", "activation.leaky_relu.negative_slope=0.3", ["leaky_relu"]),
        ([], "optimizer=adam,sgd,rmsprop", "optimizer.weight_decay=0.25", ["sgd", "rmsprop"]),
        ([], "intervention=none,redo,snr", "intervention.redo.every=7", ["redo"]),
        ([], "intervention=none,[l2_init,redo]", "intervention.redo.every=7", ["l2_init+redo"]),
        ([], "benchmark=permuted_digits,random_label_digits", "benchmark.labels=permute", ["random_label_digits"]),
        (EXPERTS[:2], "network=small_nature,small_impala", "network.stride=2", ["small_nature"]),
        (EXPERTS, "head=flatten,softmoe", "head.experts=2", ["softmoe"]),
        (EXPERTS[1:], "agent=dqn,ppo", "agent.n_step=2", ["dqn"]),
    ],
)
def test_a_setting_is_set_for_the_choices_that_have_it_and_others_are_the_runs_without_it(common, choices, setting, of):
    group = setting.partition(".")[0]
    plain, _ = found(*common, choices)
    runs, notes = found(*common, choices, setting)
    ids = {run.name(group): run.id for run in plain}
    assert len(runs) == len(ids) > len(of)
    assert [run.name(group) for run in runs if run.id != ids[run.name(group)]] == of
    (line,) = [note for note in notes if note.startswith(f"{setting.partition('=')[0]}:")]
    assert all(name in line for name in of)


def test_values_multiply_the_choices_that_have_them_alone():
    runs, notes = found("activation=leaky_relu,relu", "activation.negative_slope=0.1,0.2", "seed=0,1")
    assert len({run.id for run in runs}) == len(runs) == 2 * (2 + 1)
    assert len([note for note in notes if "negative_slope" in note]) == 1
    both, said = found("optimizer=adam,sgd", "optimizer.momentum=0.9", "optimizer.beta1=0.5", "optimizer.beta2=0.9")
    own = [run.settings("optimizer") for run in both]
    assert [settings.get("momentum", settings.get("beta2")) for settings in own] == [0.9, 0.9]
    assert len([note for note in said if note.startswith("optimizer.")]) == 2, "a line for settings of the same options"


def test_a_grid_keeps_what_is_pinned_of_one_activation_alone():
    pinned = ["activation.negative_slope=0.3", "hyperparams=grid"]
    runs, _ = found("activation=leaky_relu,elu", *pinned)
    alone = [run.id for run in found("activation=elu", "hyperparams=grid")[0]]
    assert [run.id for run in runs if run.name("activation") == "elu"] == alone
    assert {run.settings("activation").get("negative_slope") for run in runs if run.id not in alone} == {0.3}


def test_a_search_searches_it_where_it_is():
    words = ["hyperparams=search", "activation=leaky_relu,relu", "activation.negative_slope=choice(0.1,0.2)"]
    runs = asked(["schedule=smoke", *words, "optimizer.lr=interval(0.001,0.1)"]).resolved.runs
    assert {run.settings("activation").get("negative_slope") for run in runs} == {0.1, None}
    with pytest.raises(ConfigError, match="activation=relu"):
        asked(["schedule=smoke", *words])


def test_a_command_is_as_large_as_its_runs(monkeypatch):
    words = ["activation=leaky_relu,relu", "activation.negative_slope=range(0,1,0.001)"]
    with pytest.raises(ConfigError, match="1,000,000"):
        resolve([*words, "seed=range(0,1000)"])
    glob = ["activation=glob(*)", "activation.negative_slope=range(0,1,0.02)", "seed=range(0,2)"]
    for module in (requests, arguments):
        monkeypatch.setattr(module, "MOST_RUNS", 2 * (50 + 20))
    assert len(resolve(glob).runs) == 2 * (50 + 20), "and not 2 × 50 × 21"
