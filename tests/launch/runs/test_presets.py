"""Experiments: how their words change for another benchmark, and the names by which they are asked for."""

import pytest

from launch.command import resolve
from launch.runs.files import CONF, Preset, benchmarks_in, preset_of, without_benchmark
from plasticity_lab.errors import ConfigError

CHANGES = {
    "network": {"nature": "small_nature", "impala": "small_impala"},
    "optimizer.lr": 0.1,
    "benchmark.sticky": None,
}


def sweeper(params, *arms):
    return {"params": params, "arms": arms, "for_benchmark": {"games": CHANGES}}


def test_words_change_value_by_value_or_for_all_arms_or_are_left_out():
    params = {"benchmark": "atari", "network": "nature,impala", "benchmark.sticky": 0.0, "seed": 1}
    of_arms = sweeper(params, {"network": "impala", "optimizer.lr": 0.5, "head": "softmoe"}, {"benchmark.sticky": 0.1})
    words = ["benchmark=games", "network=small_nature,small_impala", "seed=1", "optimizer.lr=0.1"]
    found = preset_of(of_arms, "games")
    assert sorted(found.words) == sorted(words)
    assert list(map(list, found.arms)) == [["network=small_impala", "head=softmoe"], []]


@pytest.mark.parametrize("benchmark", [None, "atari", "games,atari"])
def test_the_words_of_another_command_stay(benchmark):
    assert preset_of(sweeper({"network": "cnn"}), benchmark) == Preset(["network=cnn"], [])


def test_a_value_without_its_counterpart_is_named():
    with pytest.raises(ConfigError, match=r"network=cnn; .*\{nature, impala\}"):
        preset_of(sweeper({"network": "impala,cnn"}), "games")


def test_a_benchmark_at_the_end_of_a_name_is_taken_off_if_the_file_changes_words_for_it():
    assert without_benchmark("softmoe_figure1_games", [CONF]) == ("softmoe_figure1", "games")
    assert without_benchmark("softmoe_figure1_atari", [CONF]) == ("softmoe_figure1_atari", None)
    assert without_benchmark("softmoe_games", [CONF]) == ("softmoe_games", None)
    assert without_benchmark("demo_games", [CONF]) == ("demo_games", None)


def test_experiments_that_are_built_on_each_other_are_read_once(tmp_path):
    (tmp_path / "experiment").mkdir()
    for name, other in (("one", "two"), ("two", "one")):
        changes = f"hydra: {{sweeper: {{for_benchmark: {{{name}_b: {{}}}}}}}}"
        text = f"# @package _global_\ndefaults: [{other}, _self_]\n{changes}\n"
        (tmp_path / "experiment" / f"{name}.yaml").write_text(text)
    assert benchmarks_in("one", [tmp_path]) == {"one_b", "two_b"}


def test_both_spellings_name_the_same_runs_and_records_keep_the_name_as_typed():
    own, word = (
        resolve(["experiment=softmoe_figure9_games"]),
        resolve(["experiment=softmoe_figure9", "benchmark=games"]),
    )
    assert [run.id for run in own.runs] == [run.id for run in word.runs]
    assert {run.asked_as[0]["experiment"] for run in own.runs} == {"softmoe_figure9_games"}
    assert {run.asked_as[0]["experiment"] for run in word.runs} == {"softmoe_figure9"}
