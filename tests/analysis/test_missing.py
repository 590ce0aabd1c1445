"""What a table lacks is named with the command that trains it, or as not in this version."""

import csv
import io
import shlex

import pytest

from analysis.rows import Planned, rows
from analysis.tables import TABLES
from analysis.tables.build import build
from analysis.tables.caption import caption
from analysis.tables.declared.means import TABLE2
from analysis.tables.missing import NOT_HERE
from analysis.tables.render import csv_text, text
from launch.command import resolve


def said(result, start="Missing"):
    return [line for line in caption(result.table, result) if line.startswith(start)]


def words_of(line):
    """The words of the command at the end of a line."""
    return shlex.split(line.partition("python -m plasticity_lab.main ")[2].rstrip("."))


def test_activations_that_a_column_lacks_can_be_trained_as_those_beside_them_were(seeds, benchmarks):
    records = seeds("relu", [0.5, 0.6, 0.7], benchmark=benchmarks["mnist"], protocol="clean", hyperparams="best")
    (result,) = build(TABLE2, rows(records))
    line, *others = said(result)
    assert line.startswith("Missing: 18 activations on Permuted MNIST: ")
    runs = resolve([*words_of(line)]).runs
    assert len(runs) == 18 * 3
    assert {run.science["seed"] for run in runs} == {0, 1, 2}
    assert {run.asked_as[0]["protocol"] for run in runs} == {"clean"}
    assert others == [
        "Missing: Random Label MNIST, Random Label CIFAR, CIFAR 5+1, Continual ImageNet: "
        "python -m plasticity_lab.main experiment=table2 protocol=clean.",
    ]


def test_a_hole_in_the_grid_says_in_the_csv_what_fills_it(seeds, benchmarks):
    records = [
        *seeds("relu", [0.5, 0.6]),
        *seeds("tanh", [0.5, 0.6]),
        *seeds("tanh", [0.5, 0.6], benchmark=benchmarks["mnist"]),
        *seeds("gelu", [0.5, 0.6], beta=0.5),
        *seeds("gelu", [0.6, 0.7], beta=0.8),
    ]
    (result,) = build(TABLE2, rows(records))
    lines = {
        (line["row"], line["benchmark"]): line
        for line in csv.DictReader(io.StringIO(csv_text([result.table.listing(result)])))
    }
    hole = lines["ReLU", "permuted_mnist"]
    assert (hole["mean"], hole["n"], hole["paper_mean"]) == ("", "", "78.85")
    assert words_of(hole["missing"]) == ["activation=relu", "benchmark=permuted_mnist", "schedule=demo", "seed=0,1"]
    assert "activation.beta=0.8" in lines["GeLU (beta=0.8)", "permuted_mnist"]["missing"]
    assert lines["Tanh", "permuted_mnist"]["missing"] == ""


def test_runs_that_wait_or_failed_say_what_finishes_them(seeds, record):
    waiting = record("relu", seed=1)
    there = [*seeds("relu", [0.5]), record("relu", seed=2, status="failed")]
    (result,) = build(TABLE2, rows(there, Planned({waiting["run"]}, {waiting["run"]: waiting})))
    (cell,) = result.cells.values()
    assert (cell.n, cell.waiting, cell.failed) == (1, 1, 1)
    (line,) = said(result, "1 runs")
    assert "1 runs are still to come and 1 runs failed" in line
    assert "launch resume" in line


@pytest.mark.parametrize("name", [name for name in TABLES if name not in ("selected", "headline")])
def test_a_table_without_runs_shows_the_papers_numbers_and_pretends_nothing(name):
    table = TABLES[name]
    shown = table.listings([])
    assert shown
    words = text(shown)
    if name in ("tableE1", "tableB1", "softmoe1", "tableA1", "tableG1", "activation_shapes"):
        assert any(each.is_ours for each in shown), "made from conf/, or derived from the activations"
        return
    assert not any(each.is_ours for each in shown)
    assert NOT_HERE in words or "python -m plasticity_lab.main" in words
    for line in csv.DictReader(io.StringIO(csv_text(shown))):
        assert not line.get("mean")


@pytest.mark.walk(1)
@pytest.mark.parametrize("name", "table1 table2 tableE3 tableG2 tableE2 tableE4 tableE8 tableE9 table3 tableF3".split())
def test_the_commands_of_a_table_without_runs_name_runs(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    lines = [line for each in TABLES[name].listings([]) for line in each.caption if "plasticity_lab.main" in line]
    assert lines
    for line in lines:
        words = [word for word in words_of(line) if not word.startswith(("seed=", "hyperparams="))]
        assert resolve([*words, "schedule=smoke", "seed=0"]).runs
