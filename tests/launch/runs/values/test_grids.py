"""hyperparams=grid: how a grid is read, pinned and united; the files' own grids are tested in tests/conf."""

import pytest

from launch.command import resolve
from launch.runs.values.grids import blocks, combinations
from plasticity_lab.errors import ConfigError

GRID = ("hyperparams=grid",)


def shapes(*words):
    return [run.science["activation"] for run in resolve([*GRID, *words]).runs]


def test_axes_of_a_block_multiply_and_blocks_stand_side_by_side():
    grid = blocks("x", "g", {"paper": [{"a": [1, 2], "b, c": [[3, 4], [5, 6]]}, {"a": [7]}], "ours": {}})
    assert list(combinations(grid)) == [
        {"a": 1, "b": 3, "c": 4},
        {"a": 1, "b": 5, "c": 6},
        {"a": 2, "b": 3, "c": 4},
        {"a": 2, "b": 5, "c": 6},
        {"a": 7},
        {},
    ]


def test_a_pinned_setting_leaves_its_axis_which_gets_shorter():
    grid = blocks("x", "g", {"paper": {"a": [1, 2], "b, c": [[3, 4], [3, 5], [6, 5]]}})
    assert list(combinations(grid, {"a", "c"})) == [{"b": 3}, {"b": 6}]


@pytest.mark.parametrize(
    ("grid", "key"),
    [
        ([1, 2], "paper or ours"),
        ({}, "paper or ours"),
        ({"theirs": {"a": [1]}}, "paper or ours"),
        ({"paper": [3]}, "settings"),
        ({"paper": {"a": 3}}, "a is 3"),
        ({"paper": {"a": []}}, "list of values"),
        ({"paper": {"a, b": [[1, 2, 3]]}}, "list of 2"),
        ({"paper": {"a, b": [1]}}, "list of 2"),
    ],
)
def test_what_is_no_grid_is_refused_by_its_place(grid, key):
    with pytest.raises(ConfigError, match=f"activation=x: grids.g.*{key}"):
        blocks("x", "g", grid)


@pytest.mark.sample(2)
def test_what_is_typed_pins_its_axis():
    words = ("activation=swish", "activation.beta=1")
    assert shapes(*words) == [{"name": "swish", "beta": 1.0}] * 2
    assert len(shapes(*words, "optimizer.lr=0.5")) == 1
    assert len(shapes("activation=swish", "optimizer.lr=1e-3")) == 33
    assert len(shapes("activation=swish", "optimizer.lr=1e-3", "activation.beta=7,8")) == 2
    both = shapes("activation=smooth_leaky", "optimizer.lr=1e-3", "activation.c=1", "activation.alpha=0.5")
    assert {(each["c"], each["alpha"]) for each in both} == {(1.0, 0.5)}
    assert len(both) == 9, "p is still the grid's"


@pytest.mark.sample(2)
def test_rates_chosen_for_adam_are_not_searched_with_sgd():
    plan = resolve([*GRID, "activation=swish", "optimizer=sgd,adamw"])
    rates = {(run.science["optimizer"]["name"], run.science["optimizer"]["lr"]) for run in plan.runs}
    assert rates == {("sgd", 0.01), ("adamw", 1e-3), ("adamw", 1e-4)}
    assert [note for note in plan.notes if "sgd keeps its default, or the value of optimizer.lr" in note]
    typed = resolve([*GRID, "activation=swish", "optimizer=sgd", "optimizer.lr=0.1,0.03"])
    assert {run.science["optimizer"]["lr"] for run in typed.runs} == {0.1, 0.03}
    assert not [note for note in typed.notes if "keeps its default" in note]


def test_one_of_two_settings_that_move_together_can_be_pinned():
    uppers = [each["upper"] for each in shapes("activation=rrelu", "activation.lower=0.6", "optimizer.lr=1e-3")]
    assert 1.0 in uppers
    assert len(uppers) == len(set(uppers))
    assert min(uppers) >= 0.6, "pairs that would be the wrong way round are left out"


@pytest.mark.sample(2)
def test_pairs_the_wrong_way_round_are_left_out_by_name_and_typed_ones_refused():
    words = [*GRID, "activation=rrelu", "activation.upper=0.2"]
    (note,) = resolve(words).notes
    assert all(key in note for key in ("rrelu", "lower", "upper", "[0.3, 0.2], [0.4, 0.2]"))
    with pytest.raises(ConfigError, match=r"activation\.lower.*0\.6.*activation\.upper.*0\.2"):
        resolve([*words, "activation.lower=0.6"])


def test_settings_that_are_one_function_are_one_run_that_knows_all_its_names():
    words = ["activation=smooth_leaky", "activation.alpha=0.5", "optimizer.lr=1e-3", "hyperparams.grid=case_study"]
    found = resolve([*GRID, *words])
    assert len(found.runs) == 19
    (equal,) = [run for run in found.runs if run.science["activation"]["c"] == run.science["activation"]["p"]]
    others = [asked["settings"]["activation"] for asked in equal.asked_as[1:]]
    assert [(each["c"], each["p"]) for each in others] == [(2, 2), (3, 3), (4, 4), (5, 5)]
    assert found.notes == [
        "runs: 19, and 6 saved, with settings that are the same function as another run's (smooth_leaky 6)."
    ]
