"""The laws that intervals miss: their truths, and the stored coverage; the measures that hold there."""

import csv
import itertools
import json
import shlex
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from analysis.__main__ import main
from analysis.coverage.command import further_table
from analysis.coverage.further import CASES, FURTHER, covered
from analysis.reported import lines_of
from analysis.statistics.method import FOLDER
from analysis.statistics.permutation import permutation
from analysis.statistics.shares import clopper_pearson

PAGE = Path(__file__).parents[2] / "docs/pages/reference/coverage.md"
STORED = {
    (line["of"], line["law"], int(line["seeds"])): float(line["coverage"]) for line in lines_of(FOLDER / "further.csv")
}
CASE = {(case.of, case.words): case for case in CASES}


@pytest.mark.parametrize("name", FURTHER)
def test_the_quantiles_of_a_law_are_those_of_its_draws(name):
    drawn, grid = FURTHER[name].draw(np.random.Generator(np.random.Philox(key=1)), (100_000,)), FURTHER[name].grid()
    assert drawn.mean() == pytest.approx(grid.mean(), abs=4 * drawn.std() / 100_000**0.5)
    assert (np.diff(grid) >= 0).all()
    for part in (0.05, 0.25, 0.6, 0.75, 0.9):
        assert np.mean(drawn <= np.quantile(grid, part)) == pytest.approx(part, abs=0.006)


def test_the_true_values_by_hand():
    def truth(of, words):
        return CASE[of, words].truth([FURTHER[law].grid() for law in CASE[of, words].laws])

    assert truth("mean, Student's t", "one seed in ten collapses") == pytest.approx(-3, abs=1e-3)
    assert truth("mean, Student's t", "lognormal 1.5") == pytest.approx(np.exp(1.125), rel=1e-3)
    assert truth("mean, logit scale if out of range", "accuracies near 100 %") == pytest.approx(100 * 30 / 31)
    for part in (80, 95):
        found = truth("improvement, Student's t", f"better in {part} % of pairs − normal")
        assert found == pytest.approx(part / 100, abs=1e-5)


@pytest.mark.walk(2)
@pytest.mark.parametrize(
    ("of", "words", "seeds"),
    [
        ("mean, Student's t", "one seed in ten collapses", 5),
        ("iqm, Student's t", "one seed in ten collapses", 5),
        ("mean, logit scale if out of range", "accuracies near 100 %", 3),
        ("share of collapsed runs, Clopper–Pearson", "one seed in ten collapses", 10),
        ("no difference, permutation test p ≥ 0.05", "one seed in ten collapses − one seed in ten collapses", 5),
    ],
)
def test_other_runs_come_to_the_stored_coverage(of, words, seeds):
    again = covered(CASE[of, words], seeds, 1000, seed=7)
    assert again.coverage == pytest.approx(STORED[of, words, seeds], abs=0.045)


@pytest.mark.parametrize("law", [name for name in FURTHER if name.startswith("accuracies")])
@pytest.mark.parametrize("seeds", [3, 5, 10, 20])
def test_the_logit_scale_never_covers_less(law, seeds):
    assert STORED["mean, logit scale if out of range", law, seeds] >= STORED["mean, Student's t", law, seeds] - 0.003


@pytest.mark.parametrize("seeds", [3, 5, 10, 20])
def test_the_hybrid_of_two_accuracies_covers_and_never_less(seeds):
    hybrid = "difference of means, hybrid on the logit scale if an arm is out of range"
    laws = [law for of, law, many in STORED if (of, many) == (hybrid, seeds)]
    assert len(laws) == 4
    for law in laws:
        assert STORED[hybrid, law, seeds] >= max(0.91, STORED["difference of means, Student's t", law, seeds] - 0.003)


def test_the_stored_file_is_of_its_command_and_the_page_prints_it(tmp_path, capsys):
    words = shlex.split(json.loads((FOLDER / "further.json").read_text())["command"])[3:]
    assert words[-2:] == ["--out", "analysis/measured/coverage"]
    assert main([*words[:-2], "--datasets", "2", "--seeds", "3", "--out", str(tmp_path)]) == 0
    with (tmp_path / "further.csv").open() as again:
        made = {(line["of"], line["law"], int(line["seeds"])) for line in csv.DictReader(again)}
    assert made == {key for key in STORED if key[2] == 3}
    capsys.readouterr()
    assert main(["coverage", "--further", "--stored"]) == 0
    assert capsys.readouterr().out.strip() == further_table()
    assert further_table() in PAGE.read_text(), "`python -m analysis coverage --further --stored` prints it"


@pytest.mark.parametrize(("many", "of"), [(0, 5), (1, 5), (3, 10), (10, 10), (0, 1)])
@pytest.mark.parametrize("level", [0.95, 0.9])
def test_the_interval_of_a_share_is_scipys(many, of, level):
    theirs = scipy.stats.binomtest(many, of).proportion_ci(level, method="exact")
    assert clopper_pearson(many, of, level) == pytest.approx((theirs.low, theirs.high))


def test_no_runs_and_more_events_than_runs_are_no_share():
    for many, of in ((0, 0), (3, 2), (-1, 5)):
        with pytest.raises(ValueError, match="no share"):
            clopper_pearson(many, of)


def test_the_permutation_test_by_hand_and_as_scipy_has_it():
    # 4, 5, 6 against 1, 2, 3: of 20 divisions this one and its mirror image are the farthest apart.
    assert permutation([4.0, 5.0, 6.0], [1.0, 2.0, 3.0]) == pytest.approx(0.1)
    assert permutation([1.0, 1.0], [1.0, 1.0]) == 1.0
    assert permutation([], [1.0, 2.0]) is None
    assert permutation([3.0], [1.0, 2.0]) is None
    assert permutation([1.0, np.inf], [1.0, 2.0]) is None
    # 80.1 and 80.3, and 80.2 and 80.2, have one sum but for rounding; both tails count, although the sizes differ.
    assert permutation([80.1, 80.3], [80.2, 80.2, 80.9]) == pytest.approx(0.8)
    ours, theirs = np.array([0.1, 0.7, 0.75, 0.2, 0.9]), np.array([0.5, 0.95, 0.8, 0.7])
    scipys = scipy.stats.permutation_test(
        (ours, theirs),
        lambda a, b, axis: abs(a.mean(axis) - b.mean(axis)),
        n_resamples=np.inf,
        vectorized=True,
        alternative="greater",
    )
    assert permutation(ours, theirs) == pytest.approx(scipys.pvalue)
    assert permutation([1.0, 2.0], [5.0, 9.0, 9.5, 8.0]) == pytest.approx(1 / 15), (
        "no other pair is so far from the rest"
    )


def test_a_drawn_permutation_test_is_near_the_one_of_all_divisions():
    stream = np.random.Generator(np.random.Philox(key=3))
    ours, theirs = stream.normal(size=9) + 1, stream.normal(size=9)
    pooled = np.concatenate([ours, theirs])
    sums = np.array([pooled[list(one)].sum() for one in itertools.combinations(range(18), 9)]) - pooled.sum() / 2
    exact = np.mean(np.abs(sums) >= abs(ours.sum() - pooled.sum() / 2) - 1e-9)
    assert permutation(ours, theirs) == pytest.approx(exact, abs=0.015)
    assert permutation(ours + 100, theirs, replicates=99) == 1 / 100, "no draw is as far apart; the given one counts"
