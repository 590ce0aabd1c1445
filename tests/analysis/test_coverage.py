"""The simulation of what intervals cover: what is stored holds with other seeds, and pages say what is stored."""

import csv
import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.power import TTestIndPower

from analysis.__main__ import main
from analysis.coverage.command import tables
from analysis.coverage.simulation import LAWS, OF, Cell, Sizes, simulated
from analysis.statistics.method import (
    BOUNDS_ANEW,
    FOLDER,
    PERCENTILE,
    STUDENT,
    TODAY,
    WINSORISED,
    coverage,
    file_of,
    with_coverage,
)

PAGES = Path(__file__).parents[2] / "docs/pages"


@pytest.mark.parametrize("name", LAWS)
def test_the_quantiles_of_a_law_are_those_of_its_draws(name):
    drawn = LAWS[name].draw(np.random.Generator(np.random.Philox(key=1)), (200_000,))
    grid = LAWS[name].grid()
    assert drawn.mean() == pytest.approx(grid.mean(), abs=0.02)
    for part in (0.1, 0.25, 0.6, 0.75, 0.9):
        assert np.mean(drawn <= np.quantile(grid, part)) == pytest.approx(part, abs=0.005)


@pytest.mark.walk(1)
@pytest.mark.parametrize(("of", "seeds", "tasks"), [("mean", 3, 1), ("iqm", 5, 1), ("iqm", 3, 4)])
def test_other_seeds_come_to_the_same(of, seeds, tasks):
    again = simulated(Cell(of, "normal", seeds, tasks), Sizes(datasets=2500, few=1, replicates=2, seed=77))
    for line in again[:2]:  # Student's; the others draw
        assert line.coverage == pytest.approx(coverage(of, line.method, seeds, tasks)[0], abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("of", [of for of in OF if "apart" not in of])
@pytest.mark.parametrize(("seeds", "tasks"), [(3, 1), (5, 1), (5, 4)])
def test_other_seeds_come_to_the_same_for_every_default(of, seeds, tasks):
    again, *_ = simulated(Cell(of, "normal", seeds, tasks), Sizes(datasets=4000, few=2000, replicates=300, seed=5))
    assert again.coverage == pytest.approx(coverage(of, again.method, seeds, tasks)[0], abs=0.02)


@pytest.mark.parametrize("of", ["mean", "iqm", "difference of means", "difference of iqms"])
@pytest.mark.parametrize("tasks", [1, 4, 20])
@pytest.mark.parametrize("seeds", [3, 5, 10, 20])
def test_the_default_covers_and_the_percentile_bootstrap_does_not(of, tasks, seeds):
    part, *_ = coverage(of, STUDENT.name, seeds, tasks)
    assert 0.925 < part < 0.99
    if of in ("mean", "iqm") and seeds <= 5:
        assert coverage(of, PERCENTILE.name, seeds, tasks)[0] < part - 0.01


def test_a_size_that_was_not_measured_has_the_coverage_of_the_nearest_smaller():
    assert coverage("iqm", STUDENT.name, 4, 9) == coverage("iqm", STUDENT.name, 3, 4)
    assert coverage("iqm", WINSORISED, 5, 4) == coverage("iqm", STUDENT.name, 5, 4)
    assert coverage("iqm", STUDENT.name, 1, 4) is None
    assert coverage("iqm", "by the moon", 5, 4) is None
    part, seeds, tasks = coverage("mean", STUDENT.name, 9, 30)
    assert f"covers {100 * part:.1f} % for normal runs at {seeds} seeds × {tasks} tasks" in with_coverage(
        STUDENT, "mean", 9, 30
    )
    assert with_coverage(STUDENT, "mean", 10, 1) == STUDENT.words


def test_every_interval_of_today_was_measured():
    for of, method in {"score": TODAY["score"], "mean": TODAY["gap"], "effect": TODAY["effect"]}.items():
        assert coverage(of, method.name, 3, 1)
    assert coverage("score", BOUNDS_ANEW.name, 5, 4)[0] > coverage("score", PERCENTILE.name, 5, 4)[0]


@pytest.mark.parametrize("of", OF)
def test_beside_each_file_stands_the_command_that_makes_it(of, monkeypatch, tmp_path, capsys):
    said = json.loads((FOLDER / f"{file_of(of)}.json").read_text())["command"]
    few = ["--datasets", "2", "--few", "2", "--replicates", "2", "--seeds", "2", "--tasks", "1"]
    words = shlex.split(said)[3:]
    assert words[-2:] == ["--out", "analysis/measured/coverage"]
    assert main([*words[:-2], *few, "--out", str(tmp_path)]) == 0
    assert "/" in capsys.readouterr().err.split(",")[0], "how far it is"
    with (tmp_path / f"{file_of(of)}.csv").open() as again, (FOLDER / f"{file_of(of)}.csv").open() as stored:
        lines, kept = list(csv.DictReader(again)), list(csv.DictReader(stored))
    assert lines[0].keys() == kept[0].keys()
    assert {(line["method"], line["distribution"]) for line in lines} == {
        (line["method"], line["distribution"]) for line in kept
    }


@pytest.mark.slow
def test_workers_change_no_number(capsys):
    few = ["coverage", "--of", "mean", "--datasets", "20", "--few", "3", "--replicates", "20", "--seeds", "2", "3"]
    found = []
    for workers in ("1", "2"):
        main([*few, "--tasks", "1", "--distribution", "normal", "--workers", workers])
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]


def test_the_page_has_the_numbers_that_are_stored(capsys):
    page = (PAGES / "reference/coverage.md").read_text()
    assert main(["coverage", "--stored"]) == 0
    printed = capsys.readouterr().out.strip()
    assert printed == tables()
    assert printed in page, "`python -m analysis coverage --stored` prints them"


def test_the_page_has_the_seeds_that_a_test_needs():
    text = (PAGES / "explanation/statistics.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith(("| difference (SDs)", "| seeds |"))]
    apart, seeds = ([float(cell) for cell in line.strip("|").split("|")[1:]] for line in lines)
    for effect, said in zip(apart, seeds, strict=True):
        power = {n: TTestIndPower().power(effect, n, 0.05) for n in (said - 1, said)}
        assert power[said - 1] < 0.8 <= power[said]
