"""What the commands of analysis are told: options that are missing, empty or unread, and both kinds of .json."""

import ast
from pathlib import Path

import pytest

from analysis.__main__ import main
from analysis.figures.named import FIGURES, READ_BY
from plasticity_lab.records.record import write_record
from plasticity_lab.records.store import Store

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def store(tmp_path, seeds, benchmarks):
    store = Store(tmp_path / "store")
    for name, values in {"relu": [0.5, 0.51], "tanh": [0.6, 0.62]}.items():
        for record in seeds(name, values, benchmark=benchmarks["digits"]):
            write_record(store, record)
    return store


def told(capsys, *words):
    """What a command that cannot be done says."""
    assert main(list(words)) == 1
    out, err = capsys.readouterr()
    assert not out
    assert err.count("\n") == 1
    return err


def test_help_marks_each_option_that_is_required():
    unmarked = []
    for folder in ("analysis", "launch", "plasticity_lab"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if "required=True" not in text:
                continue
            for call in ast.walk(ast.parse(text)):
                if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "add_argument":
                    said = {word.arg: ast.unparse(word.value) for word in call.keywords}
                    if said.get("required") == "True" and "required" not in said.get("help", ""):
                        unmarked.append(f"{path.name} {ast.unparse(call.args[0])}")
    assert unmarked == []


@pytest.mark.parametrize(
    "words",
    [
        ["table", "--metric", ""],
        ["figure", "curves", "--metric", " "],
        ["preregister", "x", "--hypothesis", ""],
        ["report", "--out", ""],
        ["table", "--store", ""],
        ["table", "--benchmark", ""],
    ],
)
def test_an_empty_word_is_named(words, store, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PLASTICITY_STORE", str(store.root))
    monkeypatch.chdir(tmp_path)
    assert words[-1].rstrip("=") in (err := told(capsys, *words)) or words[-2] in err
    assert "empty" in err
    assert {path.name for path in tmp_path.iterdir()} == {"store"}, "and nothing is written"


@pytest.mark.parametrize(("option", "figures"), [(option, READ_BY[option]) for option in ("by", "metric")])
def test_an_option_that_a_figure_does_not_read_is_named_with_those_that_do(option, figures, store, tmp_path, capsys):
    assert set(figures) < set(FIGURES)
    for name in {"curves", "matrix", "figure4", "sensitivity", "activations"} - {*figures}:
        err = told(capsys, "figure", name, f"--{option}", "x", "--store", str(store.root), "--out", str(tmp_path / "o"))
        assert f"--{option}" in err
        assert all(each in err for each in figures)
    assert not (tmp_path / "o").exists()


def test_each_json_is_read_or_the_command_that_reads_it_is_named(store, tmp_path, capsys):
    place = ["--store", str(store.root)]
    assert main(["figure", "figureE1", *place]) == main(["table", *place]) == 0
    figure, table = store.root / "figures" / "figureE1.json", store.root / "tables" / "table2.json"
    capsys.readouterr()
    again = tmp_path / "again"
    for words in (["figureE1", "--store", str(table)], [str(figure)], ["--store", str(figure)]):
        assert main(["figure", *words, "--out", str(again)]) == 0
        assert (again / "figureE1.csv").read_bytes() == figure.with_suffix(".csv").read_bytes()
        (again / "figureE1.csv").unlink()
    assert main(["table", "--store", str(table), "--out", str(again)]) == 0
    assert (again / "table2.csv").read_bytes() == table.with_suffix(".csv").read_bytes()
    capsys.readouterr()
    for words in (["table", "--store"], ["table"], ["figure", "curves", "--store"], ["compare", "--store"]):
        assert f"analysis figure {figure}" in told(capsys, *words, str(figure))
    for words in (["table"], ["figure"]):
        assert f"analysis table --store {table}" in told(capsys, *words, str(table))
    assert "curves" in told(capsys, "figure", "--store", str(table)), "a figure is to be named"
    assert "--metric" in told(capsys, "figure", str(figure), "--metric", "taoa")
