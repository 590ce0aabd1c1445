"""Tables over environments, on rows made by hand: no agent of this version has runs of them."""

import numpy as np
import pytest

from analysis.rows import rows
from analysis.statistics.bootstrap import bootstrap
from analysis.statistics.interval import mean_interval
from analysis.statistics.iqm import iqm
from analysis.statistics.normalise import normalise
from analysis.tables import TABLES
from analysis.tables.make import has_something, made
from analysis.tables.properties import PROPERTIES, property_listing
from analysis.tables.render import latex, markdown, text
from analysis.tables.scores import scores
from analysis.tables.table_environments import BODIES

CYCLE = {"name": "mujoco_cycle", "bodies": [*BODIES], "tasks": 12, "environment_steps": 1_000_000}
RETURNS = {
    "relu": [[100, 5, 50, 20], [120, 6, -9000, 22], [110, 7, 54, 24]],
    "tanh": [[300, 1, 80, 10], [310, 2, 82, 11], [330, 3, 84, 12]],
}
"""Activation → a run's returns in each environment, last cycle."""


@pytest.fixture
def cycles(record):
    """The records of runs, one for each list of returns of an activation; `values` names the summaries they are."""

    def of(returns, values=("final_return_last_cycle",), **what):
        return [
            record(
                activation,
                seed,
                benchmark=CYCLE,
                summary={
                    f"{name}/{body}": float(value)
                    for name, of_bodies in zip(values, numbers if len(values) > 1 else [numbers], strict=True)
                    for body, value in zip(BODIES, of_bodies, strict=True)
                },
                **what,
            )
            for activation, runs in returns.items()
            for seed, numbers in enumerate(runs)
        ]

    return of


def cells(shown):
    return {(line["activation"], line["column"]): line for line in shown.lines}


def test_returns_are_means_by_environment_and_count_what_failed(cycles):
    (shown,) = made(TABLES["tableF2"], rows(cycles(RETURNS)))
    line = cells(shown)["relu", "Ant-v5"]
    assert line["value"] == pytest.approx(np.mean([50, -9000, 54]))
    assert (line["failed"], line["n"], line["paper"]) == (1, 3, "1041.7 ± 313.6")
    words = text([shown])
    assert "(1 failed)" in words
    assert "**313.33 ± 15.28**" in words


def test_scores_are_normalised_over_all_runs_and_say_by_what(cycles):
    (shown,) = made(TABLES["tableF1"], rows(cycles(RETURNS)))
    arms = {name: np.array(runs, dtype=float) for name, runs in RETURNS.items()}
    normalised = normalise(arms)
    for name in RETURNS:
        expected = bootstrap(iqm, normalised.scores[name], name=name)
        line = cells(shown)[name, "score"]
        assert (line["value"], line["low"], line["high"]) == (expected.value, expected.low, expected.high)
    assert cells(shown)["relu", "score"]["paper"] == "0.1593 ± 0.043"
    caption = "\n".join(shown.caption)
    assert "percentiles 5 and 95 of the 6 runs of this table" in caption
    assert f"HalfCheetah-v5 {normalised.low[0]:,.1f} to {normalised.high[0]:,.1f}" in caption


GAPS = ("final_return_first_cycle", "test_return_first_cycle", "final_return_last_cycle", "test_return_last_cycle")


def test_changes_of_the_gap_count_failures_as_0_and_give_the_iqm_of_the_means(cycles):
    # The gap is 0 at first and `change` in the last cycle; one run fails in Humanoid.
    changes = [[-49.38, 0.0, -336.13, -68.68]] * 2 + [[-49.38, 9e9, -336.13, -68.68]]
    runs = [[[0] * 4, [0] * 4, change, [0, 0 if change[1] == 0 else -600, 0, 0]] for change in changes]
    (shown,) = made(TABLES["tableF3"], rows(cycles({"rand_smooth_leaky": runs}, GAPS)))
    of = {column: line for (_, column), line in cells(shown).items()}
    assert of["Humanoid-v5"]["value"] == 0.0
    assert of["Humanoid-v5"]["failed"] == 1
    assert of["Ant-v5"]["half_width"] == pytest.approx(mean_interval([-336.13] * 3).half_width)
    # Table F3 prints -59.03, Table 4 the same with the sign lost.
    assert of["iqm"]["value"] == pytest.approx(-59.03, abs=0.005)
    assert of["iqm"]["paper"] == "-59.03"
    assert of["sd"]["value"] == pytest.approx(151.18, abs=0.005)
    (four,) = made(TABLES["table4"], rows(cycles({"rand_smooth_leaky": runs}, GAPS)))
    assert [line["paper"] for line in four.lines if line["column"] == "iqm" and line["value"]] == ["59.03"]
    assert "mean" not in {line["column"] for line in four.lines}


def test_runs_that_did_not_finish_are_counted_and_settings_are_kept_apart(cycles, record):
    lost = record("relu", 7, status="diverged", benchmark=CYCLE)
    (found,) = scores(TABLES["tableF2"], rows([*cycles(RETURNS), lost]))
    assert (found.arms["relu"].n, found.arms["relu"].expected, found.arms["relu"].diverged) == (3, 4, 1)
    words = text(made(TABLES["tableF2"], rows([*cycles(RETURNS), lost])))
    assert "(3/4, 1 diverged)" in words
    two = [*cycles({"leaky_relu": RETURNS["relu"]}, negative_slope=0.1)]
    two += cycles({"leaky_relu": RETURNS["tanh"]}, negative_slope=0.3)
    (found,) = scores(TABLES["tableF2"], rows(two))
    assert list(found.arms) == ["leaky_relu (negative_slope=0.1)", "leaky_relu (negative_slope=0.3)"]


def test_a_selection_has_a_listing_of_its_own_and_every_format_shows_it(cycles):
    shown = made(TABLES["tableF2"], rows([*cycles(RETURNS), *cycles(RETURNS, protocol="clean", lr=0.01)]))
    assert len(shown) == 2
    assert has_something(shown)
    for rendered in (text, markdown, latex):
        assert "313.33" in rendered(shown)


def test_marks_of_properties_are_laid_out_as_the_paper_does():
    marks = {"rselu": dict.fromkeys(PROPERTIES, False) | {"NZG": True}}
    shown = property_listing(TABLES["tableG1"], marks)
    assert shown.body[0] == ["R-SeLU", "−", "✓", *["−"] * 7]
    assert shown.body[1] == ["Bo-PReLU", *[""] * 9]
    assert "not in this version" in shown.caption[-1]
    assert "Properties of 1 activations" in shown.caption[-1]
