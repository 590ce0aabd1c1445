"""Figures 6 and F1, on runs made by hand whose bodies come in turn."""

import csv
import io

import numpy as np
import pytest

from analysis.figures.drawing import Asked
from analysis.figures.files import csv_text
from analysis.figures.named import FIGURES
from analysis.figures.static import draw
from analysis.rows import rows
from analysis.statistics.plasticity_score import plasticity_scores
from analysis.tables.scores import PUBLISHED

ZERO = [0.0] * 4
RUNS = {
    "relu": [([10, 1, 5, 2], [10, 1, 5, 4]), ([20, 3, -900, 2], [10, 1, 5, 5])],
    "tanh": [([30, 2, 6, 3], [20, 2, 6, 3]), ([40, 4, 8, 9], [40, 4, 8, 10])],
}
"""Activation → its two cycles: what it returned with each body in training, and in the tests."""


def drawn(name, cycles, records):
    drawing = FIGURES[name](Asked(rows(records), cycles.metrics))
    return drawing, list(csv.DictReader(io.StringIO(csv_text(drawing))))


def test_figure_f1_has_the_gap_of_each_cycle_and_a_failure_has_none(cycles):
    drawing, lines = drawn("figureF1", cycles, cycles({name: [run] for name, run in RUNS.items()}))
    gap = {(line["panel"].partition(" ·")[0], line["series"], line["x"]): float(line["y"]) for line in lines}
    assert (gap["HalfCheetah", "Tanh", "cycle 1"], gap["HalfCheetah", "Tanh", "cycle 2"]) == (10, 0)
    assert gap["Hopper", "ReLU", "cycle 1"] == -2
    assert np.isnan(gap["Ant", "ReLU", "cycle 2"]), "its training failed, and there is no other run"
    assert any("1 gaps of runs count as 0" in line for line in drawing.caption)
    assert "–" in [text.get_text() for text in draw(drawing).axes[2].texts]


def test_figure_f1_counts_a_failure_as_0_beside_other_runs(cycles):
    two = [RUNS["relu"], [RUNS["relu"][0], ([20, 3, 5, 2], [10, 1, 1, 5])]]
    _, lines = drawn("figureF1", cycles, cycles({"relu": two}))
    ant = [float(line["y"]) for line in lines if line["panel"].startswith("Ant")]
    assert ant == [0, 2], "the second cycle: the mean of 0 and 4"


def test_figure_6_ends_with_the_scores_of_table_f1_of_each_body(cycles):
    returns = {name: [[([5.0] * 4, ZERO), (run[1][0], ZERO)] for _ in range(2)] for name, run in RUNS.items()}
    returns["tanh"][1] = [([5.0] * 4, ZERO), ([35, 3.5, 7, 8], ZERO)]
    drawing, lines = drawn("figure6", cycles, cycles(returns))
    last = {name: np.array([run[1][0] for run in runs]) for name, runs in returns.items()}
    expected = plasticity_scores(last).normalised.scores
    for name, label in (("relu", "ReLU"), ("tanh", "Tanh")):
        own = [float(line["y"]) for line in lines if line["series"] == label and PUBLISHED not in line["panel"]]
        assert len(own) == 8, "two cycles of four bodies"
        assert own[4:] == pytest.approx(expected[name].mean(axis=0)), "of two runs nothing is cut off"
    theirs = [line for line in lines if line["series"] == "Tanh" and PUBLISHED in line["panel"]]
    assert [float(line["y"]) for line in theirs] == pytest.approx(own), "the same scores, with the paper's bands"
    ends = theirs[4]
    assert float(ends["y_low"]) == pytest.approx(expected["tanh"][:, 0].min())
    assert float(ends["y_high"]) == pytest.approx(expected["tanh"][:, 0].max())
    ours = [line for line in lines if line["series"] == "Tanh"][4]
    assert 0 <= float(ours["y_low"]) < float(ends["y_low"]), "of two runs Student's interval is wide"
    assert any(line.startswith("0 and 1 are HalfCheetah ") for line in drawing.caption)
    assert draw(drawing).axes[0].get_xlabel() == "stage: HalfCheetah, Humanoid, Ant, Hopper in turn"
