"""Returns along training on Atari, a panel for each game, beside what Dopamine publishes of its agents on that game.

Its means over seeds are of training, as ours are, each over a million frames: at 10, 50, 100 and 200 million.
"""

from collections.abc import Mapping, Sequence

from analysis.figures.asked import Asked, Metrics
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.groups import Group, caption, groups
from analysis.figures.style import MOST, POINTS
from analysis.reported.reported import lines
from analysis.rows import Row
from analysis.setting_words import telling, words_of
from analysis.tables.declared.headline import HEADLINE
from plasticity_lab.environments.atari.games import FRAMES
from plasticity_lab.errors import ConfigError

PUBLISHED, ENDS = "dopamine_atari.csv", "score_ends.csv"
GAME = "benchmark.game"
MILLION = 10**6
PLACES = {"at_10M": 10.0, "at_50M": 50.0, "at_100M": 100.0, "at_200M": 200.0}
"""Column of PUBLISHED → millions of frames."""


def atari(asked: Asked) -> Drawing:
    """The figure.  Raises ConfigError where no finished run is of Atari."""
    rows = [row for row in asked.rows if row.benchmark.startswith("atari") and GAME in row.study]
    row_of = {row.run: row for row in rows}
    found = groups(HEADLINE, rows)
    by_game: dict[str, list[Group]] = {}
    for group in found:
        if run := next((run for _, cell in group.cells for run in cell.done), None):
            by_game.setdefault(str(row_of[run].study[GAME]), []).append(group)
    panels = [_panel(game, of, row_of, asked.metrics) for game, of in sorted(by_game.items())]
    panels = [panel for panel in panels if any(series.runs for series in panel.series)]
    if not panels:
        raise ConfigError("No finished run has a curve on one game of Atari, as benchmark=atari has them.")
    said = (
        "Returns of training, mean over seeds; the band is ± 1 SD over them. At most "
        f"{POINTS} points a curve, each the mean around it. Dopamine's: its published baselines, sticky actions 0.25, "
        "mean of 3 to 5 seeds over one million frames; the last with ± 1 SD. It publishes none of DER, and as Rainbow "
        "what is rainbow_lite here."
    )
    return Drawing("atari", "Atari beside published runs", panels, caption(found, rows, said))


def _panel(game: str, of: Sequence[Group], row_of: Mapping[str, Row], metrics: Metrics) -> Panel:

    from analysis.figures.courses import binned, extents, lines_of, over_runs

    cells = [(head, cell) for group in of for head, cell in group.cells if cell.done][:MOST]
    firsts = [row_of[cell.done[0]] for _, cell in cells]
    names = [name for name in telling(row.study for row in firsts) if name != GAME]
    several = len({head.label for head, _ in cells}) > 1
    labels = [
        ", ".join(filter(None, [head.label if several or not names else "", words_of(row.study, names)]))
        for (head, _), row in zip(cells, firsts, strict=True)
    ]
    column = firsts[0].declared.curves[0]
    line_of = lines_of([cell.done for _, cell in cells])
    read = metrics(line_of["run"].to_list())
    bins, _ = binned(read, column, extents(read))
    having = set(bins["run"].to_list())
    series = [
        Series(
            label=labels[line],
            key=labels[line],
            x=(points["place"] * FRAMES / MILLION).to_list(),
            y=points["value"].to_list(),
            y_sd=points["sd"].to_list(),
            n=points["n"].to_list(),
            runs=[run for run in cells[line][1].done if run in having],
        )
        for (line,), points in over_runs(bins, line_of, whole=False).group_by("line", maintain_order=True)
        if isinstance(line, int)
    ]
    last = max((float(x) for one in series for x in one.x), default=0.0)
    return Panel(
        title=game.replace("_", " ").capitalize(),
        x_label="million frames",
        y_label=column.measure.title,
        series=[*series, *_published(game, firsts), *_random(game, max(last, PLACES["at_200M"]))],
        x_log=True,
        band=True,
    )


def _published(game: str, rows: Sequence[Row]) -> list[Series]:
    """Of the agents and encoders that the runs have, and Dopamine, too."""
    ours = {(row.study.get("agent.name"), row.study.get("network.name")) for row in rows}
    found = []
    for line in lines(PUBLISHED):
        if line["game"] == game and (line["agent"], line["network"]) in ours:
            label = f"{line['agent'].replace('_', '-')}, {line['network']}, Dopamine's"
            found.append(
                Series(
                    label=label,
                    key=label,
                    x=list(PLACES.values()),
                    y=[float(line[name]) for name in PLACES],
                    y_sd=[*[None] * (len(PLACES) - 1), float(line["at_200M_sd"])],
                    n=[int(line["seeds"])] * len(PLACES),
                    marker="own",
                )
            )
    return found


def _random(game: str, last: float) -> list[Series]:
    """Random play as a level line from the first thousandth of a million frames on; nothing where it is unknown."""
    level = next(
        (float(line["low"]) for line in lines(ENDS) if line["where"] == f"{GAME}={game}" and line["low"]), None
    )
    return [] if level is None else [Series("random play", "", [0.001, last], [level, level], [0, 0])]
