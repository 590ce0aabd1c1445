"""Figures of what has long names: these have several lines, and take no room from the panels."""

import numpy as np

from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.static import draw

ARMS = [f"tokenised pooled={pooled} scale=1.0 hidden=128 lr=0.0005" for pooled in ("sum", "mean", "most")]


def of_arms(labels: bool) -> Panel:
    """A curve of each arm with its name at the end, or a dot of each in a row of its name."""
    if labels:
        series = [Series(label=arm, key=arm, x=[0, 300_000], y=[0, at], n=[5, 5]) for at, arm in enumerate(ARMS)]
        return Panel("games", "steps", "return", series, labels=True)
    series = [Series(label=arm, key=arm, x=[at], y=[arm], n=[5], listed=False) for at, arm in enumerate(ARMS)]
    return Panel("games", f"difference to {ARMS[0]}", "", series, categories=ARMS)


def test_panels_keep_their_room_and_names_lie_apart():
    figure = draw(Drawing("arms", "Arms", [of_arms(False), of_arms(False), of_arms(True)], []))
    renderer = figure.canvas.get_renderer()
    across = figure.get_window_extent(renderer).width
    points, _, curves, *_ = figure.axes
    assert points.get_window_extent(renderer).width > across / 5
    assert all("\n" in tick.get_text() for tick in points.get_yticklabels())
    assert "\n" in points.get_xlabel()
    lows, highs = np.array(
        sorted((box.y0, box.y1) for box in (text.get_window_extent(renderer) for text in curves.texts))
    ).T
    assert (lows[1:] >= highs[:-1]).all(), "no name covers another"
