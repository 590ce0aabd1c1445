"""The warnings of captions: by hand, in tables and comparisons, and how often they are right."""

import json
import math
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.stats

from analysis.__main__ import main
from analysis.compare.comparison import comparison
from analysis.compare.result import shown
from analysis.coverage.command import warnings_table
from analysis.coverage.warned import warned
from analysis.reported import lines_of
from analysis.rows import rows
from analysis.statistics.method import FOLDER
from analysis.statistics.permutation import permutation
from analysis.statistics.shape import USUAL, Borrowed, gap, looks, trimmed
from analysis.tables.build import build
from analysis.tables.caption import caption
from analysis.tables.declared.means import TABLE2

PAGE = Path(__file__).parents[2] / "docs/pages/reference/coverage.md"
STORED = {
    (line["law"], int(line["arms"]), int(line["seeds"]), float(line["unequal"])): line
    for line in lines_of(FOLDER / "warnings.csv")
}
FELL = [0.78, 0.79, 0.785, 0.10, 0.788]
NEAR = [0.70, 0.71, 0.69, 0.704, 0.695]


def test_the_gap_of_three_runs_by_hand():
    """0 and 1 against 10 leave 1/2 of 546/9 within both groups; beta(1/2, 1/2) is the arcsine law; three splits."""
    found = gap([10.0, 0.0, 1.0])
    assert (found.apart, found.of, found.below) == (1, 3, False)
    assert found.p == pytest.approx(3 * 2 / math.pi * math.asin(math.sqrt(0.5 / (546 / 9))))
    mirrored = gap([-10.0, 0.0, -1.0])
    assert (mirrored.apart, mirrored.below, mirrored.p) == (1, True, pytest.approx(found.p))


def test_the_p_of_a_gap_counts_the_splits_with_as_many_runs():
    # 0, 1, 10, 11, 12: two runs against three leave 1/2 + 2; there are ten such splits, and sizes one and two.
    runs = np.array([0.0, 1.0, 10.0, 11.0, 12.0])
    w = 2.5 / ((runs - runs.mean()) ** 2).sum()
    found = gap(runs)
    assert (found.apart, found.below) == (2, True)
    assert found.p == pytest.approx(2 * 10 * scipy.stats.beta.cdf(w, 1.5, 0.5))


def test_three_runs_borrow_the_variance_of_the_other_cells_of_their_column():
    """w counts the lent variance, too, within the groups and in all."""
    near = [10.0, 10.2, 18.0]
    alone = gap(near)
    w = (0.02 + 0.8 * 1.5) / (((np.array(near) - np.mean(near)) ** 2).sum() + 0.8 * 1.5)
    lent = gap(near, borrowed=Borrowed(1.5, 0.8))
    assert lent.p == pytest.approx(3 * scipy.stats.beta.cdf(w, 0.9, 0.5))
    assert lent.p > alone.p
    # A fall of 40 SDs is seen among cells of one SD, and not if the other cells are in other columns or vary more.
    others = {"tanh": [70.0, 71.5, 70.8], "elu": [75.2, 76.0, 74.6], "celu": [72.2, 72.9, 74.0]}
    fell = {"relu": [80.0, 79.0, 40.0], **others}
    assert looks(fell).gaps.keys() == {"relu"}
    assert looks(fell, {name: name for name in fell}).gaps == {}
    assert looks(fell | {name: [10 * value for value in of] for name, of in others.items()}).gaps == {}


@pytest.mark.parametrize("n", USUAL)
def test_the_usual_squares_within_the_clearest_split_of_normal_runs(n):
    runs = np.sort(np.random.Generator(np.random.Philox(key=n)).normal(size=(40_000, n)), axis=1)
    within = [
        sum(((part - part.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for part in (runs[:, :low], runs[:, low:]))
        for low in range(1, n)
    ]
    assert np.median(np.min(within, axis=0)) == pytest.approx(USUAL[n], rel=0.05)


def test_an_accuracy_below_half_of_the_others_needs_little_evidence():
    fell = {"relu": [80.0, 76.0, 30.0]}
    assert looks(fell).gaps == {}, "one cell of three runs: p is 0.13"
    assert looks(fell, shares=["relu"]).gaps.keys() == {"relu"}
    assert looks({"relu": [80.0, 76.0, 45.0]}, shares=["relu"]).gaps == {}, "more than half of the median"
    assert looks({"relu": [80.0, 50.0, 30.0]}, shares=["relu"]).gaps == {}, "no gap at all"


@pytest.mark.parametrize("values", [[1.0, 2.0], [3.0, 3.0, 3.0], [1.0, 2.0, math.inf], []])
def test_runs_that_show_no_gap(values):
    assert gap(values) is None
    assert looks({"one": values}).gaps == {}


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_the_p_of_normal_runs_is_below_a_level_as_often_as_the_level_says(seeds):
    stream = np.random.Generator(np.random.Philox(key=seeds))
    p = np.array([gap(stream.normal(size=seeds)).p for _ in range(2000)])
    assert 0.03 < np.mean(p < 0.05) < 0.065


def test_equal_values_of_a_coarse_metric_are_no_gap():
    """58, 58 and 55: the metric has whole numbers, as other cells show."""
    others = {"snr": [51.0, 50.0, 57.0], "none": [50.0, 52.0, 54.0]}
    assert looks({"l2_init": [55.0, 58.0, 58.0], **others}).gaps == {}
    assert gap([55.0, 58.0, 58.0]).p == 0.0, "alone, equal runs leave no variance"
    assert looks({"l2_init": [0.0, 98.0, 99.0, 99.0, 98.0], **others}).gaps.keys() == {"l2_init"}


def test_runs_within_a_few_steps_of_a_coarse_metric_have_no_shape():
    stream = np.random.Generator(np.random.Philox(key=4))
    stores = [{"relu": np.round(80 + 0.4 * stream.normal(size=10)).tolist()} for _ in range(100)]
    assert sum(bool(found.gaps) or found.skewed != 0 for found in map(looks, stores)) <= 10
    seen = [looks({"relu": [10.0, *store["relu"][1:]]}).gaps.keys() == {"relu"} for store in stores]
    assert sum(seen) >= 80


def test_more_cells_need_a_clearer_gap():
    doubtful = [0.0, 1.0, 2.0, 3.0, 16.0]
    assert 0.04 / 4 < gap(doubtful).p < 0.04
    quiet = {f"{at}": [0.0, 1.1, 2.3, 3.2, 4.6] for at in range(3)}
    assert looks({"doubtful": doubtful}).gaps.keys() == {"doubtful"}
    assert looks({"doubtful": doubtful, **quiet}).gaps == {}


def test_a_quarter_of_the_runs_can_be_trimmed():
    assert [trimmed(*size) for size in ((1, 5), (4, 5), (2, 5), (2, 8), (3, 10), (1, 3))] == [
        True, True, False, True, False, True,
    ]  # fmt: skip


def said(seeds, **values):
    (result,) = build(TABLE2, rows([one for name, of in values.items() for one in seeds(name, of)]))
    return [line for line in caption(result.table, result) if "Beware" in line or "mislead" in line]


def test_a_table_names_the_cell_and_the_share_and_the_numbers_that_hold(seeds):
    first, second = said(seeds, relu=FELL, tanh=NEAR)
    assert "ReLU on " in first
    assert "1 of 5 runs far below the others (20 % [1, 72])" in first
    assert "Tanh" not in first
    covers = next(line for line in lines_of(FOLDER / "further.csv") if line["seeds"] == "5")["coverage"]
    assert f"covers {100 * float(covers):.0f} % at 5 seeds" in second
    assert "IQM and the permutation test hold" in second
    assert said(seeds, relu=NEAR, tanh=NEAR) == []


def test_two_groups_of_many_runs_have_no_number_but_the_permutation_test(seeds):
    first, second = said(seeds, relu=[0.78, 0.79, 0.101, 0.10, 0.788])
    assert "2 of 5 runs far below the others (40 % [5, 85])" in first
    assert "neither mean nor IQM" in second


def test_a_run_that_is_flagged_as_collapsed_needs_no_test(record):
    values = [0.5, 0.55, 0.6]
    flagged = [record("relu", seed, taoa=value) | {"collapsed": seed == 1} for seed, value in enumerate(values)]
    (result,) = build(TABLE2, rows(flagged))
    lines = "\n".join(caption(result.table, result))
    assert "1 of 3 runs collapsed (33 % [1, 91])" in lines
    (result,) = build(TABLE2, rows([one | {"collapsed": True} for one in flagged]))
    assert "Beware" not in "\n".join(caption(result.table, result)), "if all runs collapsed, the mean is theirs"


@pytest.mark.parametrize("towards", ["high", "low"])
def test_skewed_runs_name_their_long_side(seeds, towards):
    # The quantiles of an exponential law: no gap at its end is wide enough for one of ten runs, their skewness is.
    sign = 1 if towards == "high" else -1
    runs = [0.5 + sign * 0.02 * -math.log(1 - (at + 0.5) / 10) for at in range(10)]
    arms = {name: [value + shift for value in runs] for shift, name in enumerate(("relu", "tanh", "elu", "celu"))}
    found = looks(arms)
    assert (found.gaps, found.skewed) == ({}, sign)
    (line,) = said(seeds, **arms)
    assert f"long {towards} side" in line
    assert "lognormal" in line


def test_a_comparison_warns_and_has_the_permutation_test(seeds):
    arms = {"none": NEAR, "snr": FELL}
    runs = rows([one for name, values in arms.items() for one in seeds("relu", values, intervention=name)])
    no_metrics = pl.LazyFrame(schema={"run": pl.String, "kind": pl.String, "task": pl.Int64, "step": pl.Int64})
    lines = "\n".join(shown(comparison(runs, "intervention"), lambda _: no_metrics, None, []).listings[0].caption)
    assert "snr: 1 of 5 runs far below the others (20 % [1, 72])" in lines
    p = permutation(FELL, NEAR)
    assert f"Permutation test that both arms have one law, p not corrected: snr − none {p:.2g}." in lines


def test_a_comparison_on_several_benchmarks_warns_once_and_names_them(seeds, benchmarks):
    arms = {("none", "digits"): NEAR, ("snr", "digits"): FELL, ("none", "mnist"): NEAR, ("snr", "mnist"): NEAR}
    runs = rows(
        [
            one
            for (name, place), values in arms.items()
            for one in seeds("relu", values, intervention=name, benchmark=benchmarks[place])
        ]
    )
    no_metrics = pl.LazyFrame(schema={"run": pl.String, "kind": pl.String, "task": pl.Int64, "step": pl.Int64})
    listings = shown(comparison(runs, "intervention"), lambda _: no_metrics, None, []).listings
    (only,) = (line for listing in listings for line in listing.caption if line.startswith("Beware"))
    assert "snr on Permuted digits: 1 of 5 runs" in only
    assert "MNIST" not in only


@pytest.mark.parametrize(
    ("law", "arms", "seeds", "unequal"),
    [
        ("normal", 4, 5, 1.0),
        ("normal", 4, 3, 1.0),
        ("one seed in ten collapses", 1, 5, 1.0),
        ("one seed in ten collapses", 4, 3, 0.5),
        ("two equal humps", 1, 10, 1.0),
        ("lognormal 1.5", 4, 10, 1.0),
    ],
)
def test_warnings_are_right_as_often_as_stored(law, arms, seeds, unequal):
    line = STORED[law, arms, seeds, unequal]
    again = warned(law, arms, seeds, unequal, 100, seed=9)
    assert again.any == pytest.approx(float(line["any"]), abs=0.09)


def test_at_most_10_of_100_normal_stores_have_a_warning_and_80_of_100_others():
    for (law, arms, seeds, unequal), line in STORED.items():
        if law == "normal":
            assert float(line["any"]) <= 0.1
        elif law == "one seed in ten collapses" and arms > 1:
            assert float(line["any"]) >= (0.8 if unequal < 1 else 0.79)
        elif law in ("one seed in ten collapses", "two equal humps") and seeds >= 5:
            assert float(line["any"]) >= 0.8
        elif law == "two equal humps" and arms >= 4:
            assert float(line["any"]) >= 0.8
        elif law == "lognormal 1.5" and arms >= 4 and seeds >= 5:
            assert float(line["any"]) >= 0.79


def test_the_stored_file_is_of_its_command_and_the_page_prints_it(tmp_path):
    words = shlex.split(json.loads((FOLDER / "warnings.json").read_text())["command"])[3:]
    assert main([*words[:-2], "--datasets", "1", "--out", str(tmp_path)]) == 0
    assert [line["law"] for line in lines_of(tmp_path / "warnings.csv")] == [law for law, *_ in STORED]
    assert warnings_table() in PAGE.read_text(), "`python -m analysis coverage --warnings --stored` prints it"
