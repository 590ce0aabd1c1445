"""A figure's JSON draws it again, the same in every file, without the runs."""

from math import inf, nan

import pytest

from analysis.__main__ import main
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.files import as_json, csv_text, of_file
from analysis.figures.static import pictures

CURVE = Series("ReLU", "relu", [1, 2, 3], [0.5, nan, 0.7], [2, 0, 2], y_sd=[0.1, None, 0.2], runs=["a", "b"])
RANGE = Series("Tanh", "tanh", [1.0, 2.5], [3, 4], [1, 1], y_range=[(2.0, 5.0), None], marker="own", joined=False)
NAMED = Series(
    "", "", [0.1, 0.2], ["one", "two"], [3, 3], x_sd=[None, 0.1], listed=False, joined=False, marker="hollow"
)
FIELDS = Series("Ant", "", ["c1", "c2"], [1.0, inf], [1, 1])
DRAWING = Drawing(
    "made_up",
    "Made up",
    [
        Panel("a", "x", "y (%)", [CURVE, RANGE], x_log=True, band=True, x_ticks=[1, 2], labels=True),
        Panel("b", "x", "", [NAMED], categories=["one", "two"], zero=True),
    ],
    ["One sentence.", "Another: – and γ."],
)


def test_it_comes_back_whole(tmp_path):
    file = tmp_path / "made_up.json"
    file.write_text(as_json(DRAWING), encoding="utf-8")
    again = of_file(file)
    assert csv_text(again) == csv_text(DRAWING)
    assert pictures(again) == pictures(DRAWING)
    assert list(again.caption) == list(DRAWING.caption)


def test_what_is_not_finite_is_no_number_of_json(tmp_path):
    file = tmp_path / "heat.json"
    file.write_text(as_json(Drawing("heat", "", [Panel("", "", "", [FIELDS], heat="from 0")])), encoding="utf-8")
    assert "Infinity" not in file.read_text()
    assert str(of_file(file).panels[0].series[0].y) == "[1.0, nan]"


@pytest.mark.parametrize("content", ["", "{}", '{"panels": 3}', "[1]"])
def test_a_file_that_holds_no_figure_is_a_sentence(content, tmp_path, capsys):
    file = tmp_path / "table2.json"
    file.write_text(content)
    assert main(["figure", str(file)]) == 1
    assert "holds no figure" in capsys.readouterr().err
    assert main(["figure", str(tmp_path / "none.json")]) == 1
    assert "Cannot read" in capsys.readouterr().err
