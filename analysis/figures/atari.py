"""Returns during training on Atari, one panel per game, compared with the returns that Dopamine publishes.

Dopamine's are training returns, like ours: means over seeds and a million frames, at 10, 50, 100 and 200 million.
"""

from collections.abc import Sequence

from analysis.figures.drawing import Asked, Drawing, Panel, Series
from analysis.figures.groups import Group, caption, groups
from analysis.figures.style import MOST, POINTS
from analysis.reported import lines
from analysis.rows import Row, grouped
from analysis.setting_words import telling, words_of
from analysis.tables.declared.means import HEADLINE
from analysis.tables.table import Metrics
from plasticity_lab.environments.atari.games import FRAMES
from plasticity_lab.errors import ConfigError

PUBLISHED, ENDS = "dopamine_atari.csv", "score_ends.csv"
GAME = "benchmark.game"
MILLION = 10**6
PLACES = {"at_10M": 10.0, "at_50M": 50.0, "at_100M": 100.0, "at_200M": 200.0}
"""Column of PUBLISHED → millions of frames."""


def atari(asked: Asked) -> Drawing:
    """The figure.  Raises ConfigError if no finished run is of Atari."""
    rows = [row for row in asked.rows if row.benchmark.startswith("atari") and GAME in row.study]
    found = groups(HEADLINE, rows)
    with_runs = [group for group in found if group.runs]
    by_game = grouped(with_runs, lambda group: str(group.runs[0].study[GAME]))
    panels = [_panel(game, of, asked.metrics) for game, of in sorted(by_game.items())]
    panels = [panel for panel in panels if any(series.runs for series in panel.series)]
    if not panels:
        raise ConfigError("No finished run has a curve on one Atari game, such as a run of benchmark=atari.")
    said = (
        "Returns of training, mean over seeds; the band is ± 1 SD over them. At most "
        f"{POINTS} points a curve, each the mean around it. Dopamine's: its published baselines, sticky actions 0.25, "
        "mean of 3 to 5 seeds over one million frames; the last with ± 1 SD. It publishes none of DER; its Rainbow "
        "is rainbow_lite here."
    )
    return Drawing("atari", "Atari compared with published runs", panels, caption(found, rows, said))


def _panel(game: str, of: Sequence[Group], metrics: Metrics) -> Panel:
    from analysis.figures.courses import courses_of  # Polars: half a second

    done = [(head, rows) for group in of for head, rows in group.done.items() if rows][:MOST]
    firsts = [rows[0] for _, rows in done]
    names = [name for name in telling(row.study for row in firsts) if name != GAME]
    several = len({head.label for head, _ in done}) > 1
    labels = [
        ", ".join(filter(None, [head.label if several or not names else "", words_of(rows[0].study, names)]))
        for head, rows in done
    ]
    column = firsts[0].declared.curves[0]
    courses, _ = courses_of(metrics, column, [[row.run for row in rows] for _, rows in done])
    series = []
    for course in courses:
        x = [place * FRAMES / MILLION for place in course.x]
        label = labels[course.line]
        series.append(Series(label, label, x, course.y, course.n, y_sd=course.sd, runs=course.runs))
    last = max((x for one in series for x in one.x), default=0.0)
    series += _published(game, firsts)
    level = next((line["low"] for line in lines(ENDS) if line["where"] == f"{GAME}={game}" and line["low"]), None)
    if level:  # a level line, from the first thousandth of a million frames on
        ends = [0.001, max(last, PLACES["at_200M"])]
        series.append(Series("random play", "", ends, [float(level)] * 2, [0, 0]))
    title = game.replace("_", " ").capitalize()
    return Panel(title, "million frames", column.measure.title, series, x_log=True, band=True)


def _published(game: str, rows: Sequence[Row]) -> list[Series]:
    """The agents and encoders that the runs and Dopamine have."""
    ours = {(row.study.get("agent.name"), row.study.get("network.name")) for row in rows}
    found = []
    for line in lines(PUBLISHED):
        if line["game"] == game and (line["agent"], line["network"]) in ours:
            label = f"{line['agent'].replace('_', '-')}, {line['network']}, Dopamine's"
            y, n = [float(line[name]) for name in PLACES], [int(line["seeds"])] * len(PLACES)
            sd = [*[None] * (len(PLACES) - 1), float(line["at_200M_sd"])]
            found.append(Series(label, label, [*PLACES.values()], y, n, y_sd=sd, marker="own"))
    return found
