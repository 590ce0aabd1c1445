"""What Plotly and the page's own scripts are given."""

import math
import re
from dataclasses import replace

import polars as pl
import pytest

from analysis.figures import style
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.ranges import ranges
from analysis.figures.static import draw
from analysis.report.plotly_figure import charts
from analysis.report.report import FOLDER
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


def test_comparable_panels_share_their_range_and_others_keep_theirs():
    def panel(value, label="accuracy (%)", place=""):
        bars = Series("a", "", [value], ["x"], [3], x_sd=[1.0], joined=False, marker="filled")
        return Panel("", label, "", [bars], categories=["x"], place=place)

    returns = [panel(5.0, "return", "catch"), panel(9.0, "return", "catch"), panel(900.0, "return", "pong")]
    drawing = Drawing("figureE1", "", [panel(10.0), panel(30.0), *returns])
    # From 10 − 1 to 30 + 1 and from 5 − 1 to 9 + 1, with a twentieth at both ends; no other panel is about pong.
    assert ranges(drawing) == [*[pytest.approx((7.9, 32.1))] * 2, *[pytest.approx((3.7, 10.3))] * 2, None]
    assert [chart["layout"]["xaxis"].get("range") for chart in charts(drawing)] == ranges(drawing)
    assert [axes.get_xlim() for axes in draw(drawing).axes[:2]] == [pytest.approx((7.9, 32.1))] * 2
    assert ranges(replace(drawing, own_ranges=True)) == [None] * 5


def luminance(colour):
    """Relative luminance (WCAG 2.2) of "#RRGGBB" or "#RGB"."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    lighter, darker = sorted([luminance(one), luminance(other)], reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_on_a_dark_page_every_colour_has_a_contrast_of_4_5():
    dark = (FOLDER / "page.css").read_text(encoding="utf-8").partition("prefers-color-scheme: dark")[2]
    of = dict(re.findall(r"--(\w+): (#\w+);", dark))
    assert contrast("#fff", "#000000") == pytest.approx(21)
    shown = {style.ON_DARK.get(colour, colour) for colour in style.COLOURS} | {of["ink"], of["accent"], of["warn"]}
    assert {colour for colour in shown if contrast(colour, of["page"]) < 4.5} == set()
