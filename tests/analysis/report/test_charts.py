"""What Plotly and the page's own scripts are given."""

import math

import polars as pl

from analysis.figures.drawing import Drawing, Panel, Series
from analysis.report.plotly_figure import charts
from analysis.report.runs import curves_payload
from analysis.rows import rows
from tests.helpers.made_up_agent import PLAYER

NAN = math.nan


def test_a_band_is_broken_where_its_line_is():
    line = Series("a", "relu", [1, 2, 3, 4, 5], [10, 11, NAN, 20, 21], [2, 2, 0, 2, 1], y_sd=[1, 1, None, 2, None])
    (chart,) = charts(Drawing("curves", "", [Panel("", "step", "return", [line], band=True)]))
    band, trace = chart["data"]
    assert trace["y"] == [10, 11, None, 20, 21]
    assert band["x"] == [1, 2, 2, 1, None, 4, 4, None]
    assert band["y"] == [11, 12, 10, 9, None, 22, 18, None]
    assert band["legendgroup"] == trace["legendgroup"], "they are hidden together"


def test_names_are_no_html_for_plotly_either():
    bars = Series("<b>a", "", [0.5], ["<i>x"], [3], joined=False, marker="filled")
    (chart,) = charts(Drawing("figureE1", "", [Panel("<u>p", "x & y", "", [bars], categories=["<i>x"])]))
    assert "<" not in str([chart["data"][0]["name"], chart["data"][0]["y"], chart["layout"]])
    assert "x &amp; y" in chart["data"][0]["hovertemplate"]


def test_the_line_of_a_body_is_broken_where_a_run_learned_another(record):
    episodes = {"kind": ["episode"] * 6, "task": [0, 0, 1, 1, 2, 2], "step": [5, 10, 15, 20, 25, 30]}
    episodes |= {"body": [0, 0, 1, 1, 0, 0], "return": [1.0, 2.0, 30.0, 40.0, 5.0, 6.0]}
    benchmark = {"name": "two_bodies", "bodies": ["hopper", "ant"]}
    played = record(benchmark=benchmark) | {"measures": PLAYER.as_json()}
    metrics = pl.LazyFrame({"run": [played["run"]] * 6, **episodes})
    (panel,) = curves_payload(rows([played]), lambda runs: metrics)["panels"]
    assert {name: y for name, x, y in panel["lines"]["0"]} == {"hopper": [1, 2, None, 5, 6], "ant": [30, 40]}
