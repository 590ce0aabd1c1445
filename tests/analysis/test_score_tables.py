"""Tables over environments, on runs made by hand: returns of training and of tests by stage."""

import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from analysis.figures.drawing import Asked
from analysis.figures.files import csv_text
from analysis.figures.named import FIGURES
from analysis.frames import FIRST
from analysis.origin import origin, rows_of
from analysis.rows import rows
from analysis.statistics.method import BOUNDS_ANEW, PERCENTILE, with_coverage
from analysis.statistics.plasticity_score import plasticity_scores
from analysis.tables import TABLES
from analysis.tables.render import text
from plasticity_lab.errors import StoreError
from plasticity_lab.records.stage_returns import StageReturn
from tests.helpers.curves import CYCLE

RETURNS = {
    "relu": [[100, 5, 50, 20], [120, 6, -9000, 22], [110, 7, 54, 24]],
    "tanh": [[300, 1, 80, 10], [310, 2, 82, 11], [330, 3, 84, 12]],
}
"""Activation → what each of its runs returned in each environment, in the last cycle."""


def last_cycle(returns):
    """Runs of two cycles, whose last returned this."""
    return {name: [[([0] * 4, [0] * 4), (run, run)] for run in runs] for name, runs in returns.items()}


def shown(name, cycles, records):
    return TABLES[name].listings(rows(records), None, cycles.metrics)


def cells(listing):
    return {(line["activation"], line["column"]): line for line in listing.lines}


def test_returns_are_means_by_environment_and_count_what_failed(cycles):
    (listing,) = shown("tableF2", cycles, cycles(last_cycle(RETURNS)))
    line = cells(listing)["relu", "ant"]
    assert line["value"] == pytest.approx(np.mean([50, -9000, 54]))
    assert (line["failed"], line["n"], line["paper"]) == (1, 3, "1041.7 ± 313.6")
    words = text([listing])
    assert "(1 failed)" in words
    assert "**313.33 ± 15.28**" in words
    assert "HalfCheetah-v5" in words
    (warning,) = (line for line in listing.caption if line.startswith("Beware of a gap"))
    assert "relu, Ant-v5: 1 of 3 runs far below the others (33 % [1, 91])" in warning
    assert "tanh" not in warning


def test_a_mean_and_what_stands_behind_it_are_written_in_one_form(cycles):
    runs = {"relu": [[100, 0, 50, 20], [120, 0, 52, 22], [110, 2e5, 54, 24]]}
    words = text(shown("tableF2", cycles, cycles(last_cycle(runs))))
    assert "6.67e+04 ± 1.15e+05" in words
    assert "52.00 ± 2.00" in words


def test_scores_are_normalised_over_all_runs_and_say_by_what(cycles):
    (listing,) = shown("tableF1", cycles, cycles(last_cycle(RETURNS), lr=1e-4))
    expected = plasticity_scores({name: np.array(runs, dtype=float) for name, runs in RETURNS.items()})
    for name in RETURNS:
        line, score = cells(listing)[name, "score"], expected.scores[name]
        assert (line["value"], line["low"], line["high"]) == (score.value, score.low, score.high)
        assert (line["published_low"], line["published_high"]) == expected.as_published[name].ends
    assert cells(listing)["relu", "score"]["paper"] == "0.1593 ± 0.043"
    caption = "\n".join(listing.caption)
    for method in (BOUNDS_ANEW, PERCENTILE):
        assert method.words[:-1] in caption
        assert with_coverage(method, "score", 3, 4) in caption
    assert "percentiles 5 and 95 of 6 runs of 2 activations" in caption
    assert "are from 2 activations and the paper's from 17" in caption
    assert "0.1593" not in text([listing]), "its bounds are others"
    low, high = expected.normalised.low[0], expected.normalised.high[0]
    assert f"HalfCheetah-v5 {low:,.1f} to {high:,.1f}" in caption
    assert "lr=0.0001" in text([listing])


def test_scores_warn_of_a_run_that_collapsed_in_every_environment(cycles):
    tanh = [[300 + at, 80 + at, 85 - at, 90 + at] for at in range(5)]
    relu = [[310 - at, 82 + at, 84 + at, 91 - at] for at in range(4)]
    (listing,) = shown("tableF1", cycles, cycles(last_cycle({"tanh": tanh, "relu": [*relu, [0, 0, 0, 0]]})))
    (warning,) = (line for line in listing.caption if line.startswith("Beware of a gap"))
    assert "relu, score: 1 of 5 runs far below the others (20 % [1, 72])" in warning
    (listing,) = shown("tableF1", cycles, cycles(last_cycle({"tanh": tanh, "relu": relu})))
    assert not any(line.startswith("Beware") for line in listing.caption)


def test_table_3_shows_five_activations_by_the_bounds_of_all(cycles):
    records = cycles(last_cycle({**RETURNS, "sigmoid": RETURNS["tanh"]}))
    (three,), (whole,) = (shown(name, cycles, records) for name in ("table3", "tableF1"))
    lines = {activation: line for (activation, _), line in cells(three).items() if line["value"] is not None}
    assert lines.keys() == {"sigmoid"}
    assert lines["sigmoid"]["value"] == cells(whole)["sigmoid", "score"]["value"]


def test_changes_of_the_gap_count_failures_as_0_and_are_summed_up_as_table_f3_does(cycles):
    # No gap in the first cycle, this one in the last; the test of one run fails in Humanoid.
    change, zero = [-49.38, 0.0, -336.13, -68.68], [0.0] * 4
    runs = [[(zero, zero), (change, [0, lost, 0, 0])] for lost in (0, 0, -600)]
    records = cycles({"rand_smooth_leaky": runs})
    (listing,) = shown("tableF3", cycles, records)
    of = {column: line for (name, column), line in cells(listing).items() if name == "rand_smooth_leaky"}
    assert (of["humanoid"]["value"], of["humanoid"]["failed"]) == (0.0, 1)
    assert of["ant"]["half_width"] is None, "equal runs have no interval, and not one of no width"
    assert "do not differ" in of["ant"]["no_interval_because"]
    assert "no interval: the runs do not differ" in text([listing])
    # Table F3 prints -59.03, Table 4 the same with the sign lost.
    assert of["iqm"]["value"] == pytest.approx(-59.03, abs=0.005)
    assert of["iqm"]["paper"] == "-59.03"
    assert of["sd"]["value"] == pytest.approx(151.18, abs=0.005)
    (four,) = shown("table4", cycles, records)
    assert [line["paper"] for line in four.lines if line["column"] == "iqm" and line["value"]] == ["59.03"]
    assert "mean" not in {line["column"] for line in four.lines}


def test_a_gap_needs_two_cycles_and_tests_and_is_never_0_for_want_of_them(cycles):
    once = {"relu": [[([1, 2, 3, 4], [1, 1, 1, 1])]]}
    for records in (cycles(once), cycles(last_cycle(RETURNS), tested=False)):
        (listing,) = shown("tableF3", cycles, records)
        assert not any(each.is_ours for each in [listing])
        assert cells(listing)["relu", "iqm"]["value"] is None
    (listing,) = shown("tableF2", cycles, cycles(once, lr=0.01))
    assert cells(listing)["relu", "ant"]["value"] == 3


def test_runs_that_did_not_finish_are_counted_flags_are_said_and_settings_kept_apart(cycles, record):
    lost = record("relu", 7, status="diverged", benchmark=CYCLE, science={"agent": {"name": "ppo"}})
    records = cycles(last_cycle(RETURNS))
    records[0]["flags"] = {"unstable": True}
    (listing,) = shown("tableF2", cycles, [*records, lost])
    line = cells(listing)["relu", "hopper"]
    assert (line["n"], line["expected"], line["diverged"], line["unstable"]) == (3, 4, 1, 1)
    assert "(3/4, 1 diverged, 1 unstable)" in text([listing])
    assert "Missing: " in "\n".join(listing.caption)
    two = cycles(last_cycle({"leaky_relu": RETURNS["relu"]}), negative_slope=0.1)
    two += cycles(last_cycle({"leaky_relu": RETURNS["tanh"]}), negative_slope=0.3)
    (listing,) = shown("tableF2", cycles, two)
    assert {line["row"] for line in listing.lines} == {
        "leaky_relu (negative_slope=0.1)",
        "leaky_relu (negative_slope=0.3)",
    }


def test_the_json_of_a_table_makes_it_again_without_the_store_and_so_all_others_and_the_figures(cycles, tmp_path):
    records = cycles(last_cycle(RETURNS), lr=1e-4)
    kept = tmp_path / "tableF1.json"
    kept.write_text(origin(TABLES["tableF1"].ready(rows(records), cycles.metrics)))
    for name in ("table3", "table4", "tableF1", "tableF2", "tableF3"):
        assert text(TABLES[name].listings(rows_of(kept))) == text(shown(name, cycles, records))
    for name in ("figure6", "figureF1"):
        own, again = (
            FIGURES[name](asked) for asked in (Asked(rows(records), cycles.metrics), Asked(rows_of(kept), none))
        )
        assert csv_text(own) == csv_text(again)
        assert own.caption == again.caption


def none(runs):
    """The metrics of a place that has none."""
    return pl.LazyFrame(schema=FIRST)


def test_returns_that_are_no_numbers_come_back_out_of_the_json(record, tmp_path):
    (row,) = rows([record("relu")])
    stages = [StageReturn(0, 1, 0, 0, math.nan, math.nan), StageReturn(1, 0, 0, 3, -math.inf, 0.1 + 0.2)]
    kept = tmp_path / "tableF2.json"
    kept.write_text(origin([replace(row, stages=stages)]))
    (again,) = rows_of(kept)
    assert repr(again.stages) == repr(stages)
    json.loads(kept.read_text(), parse_constant=pytest.fail)


def test_an_old_table_goes_on_saying_how_its_intervals_were_made_and_makes_them_so(cycles, tmp_path):
    kept = tmp_path / "tableF1.json"
    kept.write_text(origin(TABLES["tableF1"].ready(rows(cycles(last_cycle(RETURNS))), cycles.metrics)))
    groups = json.loads(kept.read_text())
    for group in groups:
        group["intervals"]["score"] = {"name": PERCENTILE.name, "replicates": 300, "level": 0.8, "seed": 0}
    kept.write_text(json.dumps(groups))
    (listing,) = TABLES["tableF1"].listings(rows_of(kept))
    assert "80 % interval (stratified percentile bootstrap, 300 replicates, seed 0)" in listing.caption[0]
    returns = {name: np.array(runs, dtype=float) for name, runs in RETURNS.items()}
    expected = plasticity_scores(returns, method=replace(PERCENTILE, replicates=300, level=0.8)).scores["relu"]
    assert (cells(listing)["relu", "score"]["low"], cells(listing)["relu", "score"]["high"]) == (
        expected.low,
        expected.high,
    )
    assert all(group["intervals"]["score"]["replicates"] == 300 for group in json.loads(origin(rows_of(kept))))
    with_others = TABLES["tableF1"].listings([*rows_of(kept), *rows(cycles({"tanh": [[([1] * 4, [1] * 4)]]}, lr=0.5))])
    assert "95 %" in with_others[-1].caption[0], "of runs that keep different methods, today's"
    groups[0]["intervals"]["score"]["name"] = "by the moon"
    kept.write_text(json.dumps(groups))
    with pytest.raises(StoreError, match="by the moon"):
        rows_of(kept)


def test_scores_that_are_not_told_apart_are_shown_as_a_group(cycles):
    near = {"relu": [[9, 2, 3, 4], [8, 3, 3, 5], [7, 2, 4, 4]], "tanh": [[8, 3, 3, 4], [9, 2, 4, 4], [7, 2, 3, 3]]}
    far = {name: [[value + shift for value in run] for run in near["relu"]] for name, shift in (("crelu", -30),)}
    (listing,) = shown("tableF1", cycles, cycles(last_cycle({**near, **far})))
    bold = {listing.body[line][0] for line, _ in listing.bold}
    assert len(bold) == 2
    assert not any("CReLU" in label for label in bold)
    assert "not significantly different" in "\n".join(listing.caption)
