import csv
import io
from types import SimpleNamespace

import pytest

from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.numbers import csv_text as figure_csv
from analysis.tables.render import csv_text as table_csv
from analysis.tables.render import guarded


@pytest.mark.parametrize("cell", ["=1+1", "+SUM(A1)", "-cmd|'/C calc'!A0", "@SUM(1)", "\t=1", "\r=1"])
def test_a_text_that_a_spreadsheet_would_calculate_gets_an_apostrophe(cell):
    assert guarded(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["relu", "-0.5", "+1e-3", "-inf", "", "a=1", -0.5, 0, None])
def test_numbers_and_other_texts_stay(cell):
    assert guarded(cell) == cell


def test_tables_and_figures_guard_names_and_leave_numbers():
    table = SimpleNamespace(lines=[{"activation": "=1+1", "mean": -0.25}])
    series = Series(label="@SUM(1)", key="=1+1", x=[-1.0], y=[-0.25], n=[1], runs=["abababababab"])
    drawing = Drawing("figure1", "Accuracy", [Panel("TAOA", "task", "accuracy", [series])])
    assert list(csv.reader(io.StringIO(table_csv([table])))) == [["activation", "mean"], ["'=1+1", "-0.25"]]
    heading, line = csv.reader(io.StringIO(figure_csv(drawing)))
    cells = dict(zip(heading, line, strict=True))
    assert (cells["series"], cells["activation"], cells["y"]) == ("'@SUM(1)", "'=1+1", "-0.25")
