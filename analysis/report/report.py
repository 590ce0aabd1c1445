"""The report: one page with an overview of a store's runs, figures, tables, and every run."""

import base64
import gzip
import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from analysis.compare.comparison import Comparison
from analysis.figures import style
from analysis.names import BENCHMARKS, DATA, display
from analysis.report.films import films
from analysis.report.interventions import compared, repeats
from analysis.report.interventions import table as interventions_table
from analysis.report.runs import curves_payload, flags_of, one_each, runs_payload
from analysis.report.sections import Section, sections
from analysis.rows import Row
from analysis.tables import TABLES
from analysis.tables.declared.means import HEADLINE
from analysis.tables.listing import NOTHING, Listing, formatted
from analysis.tables.table import Metrics, Table
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.provenance import version_line

FOLDER = Path(__file__).parent
SCRIPTS = ("unpack.js", "charts.js", "run.js", "together.js", "page.js")
STATUSES = ("done", "diverged", "failed", "stopped", "waiting")
SHORT = 10
"""The number of digits shown of a commit."""
NOT_YET = "not known yet"
BEST = "\N{NO-BREAK SPACE}"
"""Marks a best number, between rendering and page."""
PAPER = "paper"
"""The heading of the paper's values."""


def report(
    rows: Sequence[Row],
    metrics: Metrics,
    places: Sequence[Path],
    left_out: Sequence[str],
    again: int | None = None,
    searches: Sequence[Section] = (),
) -> str:
    """The report's page as HTML.

    left_out: sentences about files that could not be read; reading the metrics may add some.
    again: the number of seconds after which an open page reloads itself; None: never.
    searches: further sections, after the figures.
    Raises ConfigError if a required library is not installed.
    """
    runs = _as_asked(one_each(rows))
    interventions = compared(rows)
    parts = sections(rows, metrics, interventions)
    captions = [figure.caption for part in parts for figure in part.figures if figure.charts]
    several = captions if len(captions) > 1 else [[]]  # a single figure keeps all its sentences
    alike = [sentence for sentence in several[0] if all(sentence in caption for caption in several)]
    parts += searches
    curves = curves_payload(runs, metrics)
    shown_films, without_film = films(runs, places)
    shown = {
        "title": f"plasticity_lab: {', '.join(place.resolve().name for place in places)}",
        "made": datetime.now().astimezone().strftime("%d %B %Y, %H:%M %Z"),
        "version": version_line(),
        "stores": ", ".join(map(str, places)),
        "command": shlex.join(["python", "-m", "analysis", "report", "--store", *map(str, places)]),
        "overview": overview(one_each(rows)),
        "left_out": [*dict.fromkeys([*left_out, *without_film])],
        "sections": _numbered(parts, alike),
        "of_all_figures": alike,
        "tables": table_pages(rows, metrics, interventions),
    }
    data = {
        "charts": [chart for part in parts for figure in part.figures for chart in figure.charts],
        "runs": runs_payload(runs),
        "again": again,
        "curves": curves,
        "films": shown_films,
        "style": {"colours": style.COLOURS, "dark": style.ON_DARK, "grid": style.GRID, "layout": style.SMALL_CHART},
    }
    return _page(shown, data)


def overview(runs: Sequence[Row]) -> dict[str, Any]:
    """The number of a store's runs, by outcome and by origin.

    counts: status or flag → number of runs, without zeros. shared: heading → the value that all runs share.
    groups: for each set of runs with one origin, heading → value and status → number of runs; empty if all runs have
    the same origin.
    """
    origins = [_origin(row) for row in runs]
    values = {name: {origin[name] for origin in origins} for name in (origins[0] if origins else ())}
    counts = Counter(row.status for row in runs)
    found: dict[tuple[tuple[str, str], ...], Counter[str]] = {}
    for row, origin in zip(runs, origins, strict=True):
        differing = tuple((name, value) for name, value in origin.items() if len(values[name]) > 1)
        found.setdefault(differing, Counter())[row.status] += 1
    groups = [{**dict(where), **{name: of[name] for name in STATUSES if counts[name]}} for where, of in found.items()]
    flags = Counter(flag for row in runs for flag in flags_of(row))
    return {
        "total": len(runs),
        "counts": {name: many for name in STATUSES if (many := counts[name])} | flags,
        "shared": {name: next(iter(of)) for name, of in values.items() if len(of) == 1 and of != {""}},
        "groups": sorted(groups, key=str) if len(groups) > 1 else [],
    }


def _origin(row: Row) -> dict[str, str]:
    """The origin of a run's numbers. Runs that are compared must have the same origin."""
    made = row.provenance
    source = row.study.get("benchmark.source")
    data = DATA.get(source, source) if source else made.get("data") or ""
    commit = (made.get("commit") or "none")[:SHORT] + (" with changes" if made.get("dirty") else "")
    if made.get("code") and (made.get("dirty") or not made.get("commit")):
        commit += f", code {made['code']}"
    known = {
        "device": str(made.get("device") or ""),
        "mode": str(made.get("mode") or ""),
        "torch": str((made.get("versions") or {}).get("torch", "")),
        "commit": commit,
    }
    return {
        "benchmark": display(BENCHMARKS, row.benchmark),
        "data": f"part of {data}" if made.get("data_part") else str(data),
        "agent": str(row.study.get("agent.name", "")),
        "protocol": row.protocol,
        "schedule": row.schedule,
        "hyperparameters": row.hyperparams,
        "intervention": row.intervention,
        "precision": str(row.study.get("precision", "")),
        **(known if made else dict.fromkeys(known, NOT_YET)),
    }


def _as_asked(rows: Sequence[Row]) -> list[Row]:
    """The runs sorted by their choices and settings, seeds last, and not by the id, which is a hash."""
    # Rows share their settings, so each object is read once.
    studies = {id(study): str(sorted(study.items())) for study in {id(row.study): row.study for row in rows}.values()}

    def place(row: Row) -> tuple[Any, ...]:
        own = [
            (name, value if isinstance(value, int | float) else 0, str(value))
            for name, value in sorted(row.own.items())
        ]
        choices = row.benchmark, row.protocol, row.schedule, row.intervention, row.activation
        return *choices, own, studies[id(row.study)], row.replicate

    return sorted(rows, key=place)


def _numbered(parts: Sequence[Section], alike: Sequence[str]) -> list[dict[str, Any]]:
    """The sections for the page, with figures and charts numbered across all sections.

    Captions leave out the sentences that all figures share.
    """
    found: list[dict[str, Any]] = []
    figures = charts = 0
    for part in parts:
        shown = []
        for figure in part.figures:
            figures += 1
            numbers = range(charts, charts := charts + len(figure.charts))
            caption = [sentence for sentence in figure.caption if sentence not in alike]
            shown.append({"number": figures, "title": figure.title, "charts": numbers, "caption": caption})
        found.append({"title": part.title, "figures": shown})
    return found


def _page(shown: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The HTML, with its libraries, its style and its data embedded.  shown: for the template; data: for its scripts.

    Raises ConfigError, with the command that installs it, if a library is missing.
    """
    try:
        import jinja2
        from plotly.offline import get_plotlyjs

        # Only a file of itables is needed; to import it would import pandas, half a second.
        itables = find_spec("itables")
        if itables is None or itables.origin is None:
            raise ModuleNotFoundError(name="itables")
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"The report needs {error.name}, which is not installed; `pip install -e '.[report]'` in the clone "
            "installs all that it needs."
        ) from error
    library = Path(itables.origin).parent / "html" / "dt_bundle.js"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    inside = {
        "style": _inside((FOLDER / "page.css").read_text(encoding="utf-8")),
        "table_style": _inside(library.with_suffix(".css").read_text(encoding="utf-8")),
        "table_library": _inside(library.read_text(encoding="utf-8")),
        "plotly": _inside(get_plotlyjs()),
        "scripts": [_inside((FOLDER / name).read_text(encoding="utf-8")) for name in SCRIPTS],
        "data": _inside(packed(data)),
    }
    return environment.get_template("page.html").render(**shown, **inside)


def packed(content: Any) -> str:
    """Compressed JSON as base64 text for a page; no part of it can be read as HTML."""
    written = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(written.encode(), compresslevel=6, mtime=0)).decode("ascii")


def _inside(part: str) -> Any:
    """Code without HTML escapes, ours or a library's. A closing tag in it is masked: it would end the page's script."""
    from markupsafe import Markup

    return Markup(part.replace("</script", r"<\/script").replace("</style", r"<\/style"))


# Tables, with numbers for sorting.


def table_pages(rows: Sequence[Row], metrics: Metrics, interventions: Comparison | None = None) -> list[dict[str, Any]]:
    """The interventions compared; every table of the papers that the runs can fill; then other main metrics.

    A table of a single compared intervention with one line is left out: the comparison has the line.
    Each as the page's template reads it: title, header, body (lines of cells) and caption (sentences). A cell has
    words, style (CSS classes) and order: its number, "" if it has none; None if its column is not sorted by numbers.
    """
    pages = [_table(interventions_table(interventions))] if interventions else []
    for table in TABLES.values():
        able = _able(table, rows)
        shown = table.listings(able, None, metrics) if able and table.needs_runs() else []
        if any(each.is_ours for each in shown):
            pages += [_table(each) for each in shown if not (interventions and repeats(each, interventions))]
    return pages


def _able(table: Table[Any], rows: Sequence[Row]) -> list[Row]:
    """The rows of agents that measure the number of a table."""
    if table is HEADLINE:
        elsewhere = {other.cell for other in TABLES.values()}
        return [row for row in rows if row.declared.headline not in elsewhere]
    return [row for row in rows if table.cell is None or table.cell in row.declared.summaries]


def _table(shown: Listing) -> dict[str, Any]:
    """A table with the words of the terminal, without empty columns of the paper's values (the caption says so)."""
    grid = formatted(shown, f"{BEST}{{}}".format, escape=str)
    kept = [
        place
        for place, heading in enumerate(grid.header)
        if heading != PAPER or any(line[place] != NOTHING for line in grid.body)
    ]
    numeric = {
        place
        for place in kept[1:]
        if all(line[place].startswith(NOTHING) or _number(line[place], None) is not None for line in grid.body)
    }
    body = []
    for line in grid.body:
        cells = []
        for place in kept:
            classes = {"number": place in numeric, "best": line[place].startswith(BEST), "long": place in grid.long}
            cells.append(
                {
                    "words": line[place].removeprefix(BEST),
                    "style": " ".join(name for name, is_so in classes.items() if is_so),
                    "order": _number(line[place], "") if place in numeric else None,
                }
            )
        body.append(cells)
    header = [grid.header[place] for place in kept]
    return {"title": shown.title, "header": header, "body": body, "caption": shown.caption}


def _number(words: str, otherwise: Any) -> Any:
    """The number at the beginning of a cell, or another value if it has none."""
    try:
        return float(words.removeprefix(BEST).partition(" ")[0].rstrip("†‡").replace(",", ""))
    except ValueError:
        return otherwise
