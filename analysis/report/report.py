"""What the report shows of the runs of a store: figures, tables and every run, put into its page."""

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from analysis.figures import style
from analysis.figures.asked import Metrics
from analysis.report.overview import overview
from analysis.report.packed import packed
from analysis.report.run_curves import curves_payload
from analysis.report.runs import one_each, runs_payload
from analysis.report.sections import Section, sections
from analysis.report.table_page import table_pages
from analysis.rows import Row
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.provenance import version_line


def report(
    rows: Sequence[Row],
    metrics: Metrics,
    places: Sequence[Path],
    left_out: Sequence[str],
    again: int | None = None,
    searches: Sequence[Section] = (),
) -> str:
    """The page.  left_out: sentences on what could not be read, to which reading metrics may add. again: after how many
    seconds an open page is to load itself anew; None: never. searches: further sections, after the figures.

    Raises ConfigError where a library that it needs is not installed.
    """
    runs = sorted(one_each(rows), key=_as_asked)
    parts = sections(rows, metrics)
    alike = _said_of_all([figure.caption for part in parts for figure in part.figures if figure.charts])
    parts += searches
    figures = [figure for part in parts for figure in part.figures]
    drawn = [chart for figure in figures for chart in figure.charts]
    curves = curves_payload(runs, metrics)
    shown = {
        "title": f"plasticity_lab: {', '.join(place.resolve().name for place in places)}",
        "made": datetime.now().astimezone().strftime("%d %B %Y, %H:%M %Z"),
        "version": version_line(),
        "stores": ", ".join(map(str, places)),
        "command": shlex.join(["python", "-m", "analysis", "report", "--store", *map(str, places)]),
        "overview": overview(rows),
        "left_out": list(dict.fromkeys(left_out)),
        "sections": _numbered(parts, alike),
        "of_all_figures": alike,
        "tables": table_pages(rows, metrics),
    }
    data = {
        "charts": drawn,
        "runs": runs_payload(runs),
        "again": again,
        "curves": curves,
        "style": {"colours": style.COLOURS, "grid": style.GRID, "layout": style.SMALL_CHART},
    }
    return page(shown, data)


def _as_asked(row: Row) -> tuple[Any, ...]:
    """Where a run stands in a list: as people ask for runs, seeds last, and not by the hash that is its id."""
    own = sorted(row.own.items(), key=lambda setting: setting[0])
    numbers = [(name, value if isinstance(value, int | float) else 0, str(value)) for name, value in own]
    seeds = [-1 if seed is None else seed for seed in row.seeds]
    study = str(sorted(row.study.items(), key=lambda setting: setting[0]))
    return row.benchmark, row.protocol, row.schedule, row.intervention, row.activation, numbers, study, seeds


def _said_of_all(captions: Sequence[Sequence[str]]) -> list[str]:
    """The sentences that stand below every figure, where there are several: they are said once."""
    if len(captions) < 2:
        return []
    return [sentence for sentence in captions[0] if all(sentence in caption for caption in captions)]


def _numbered(parts: Sequence[Section], alike: Sequence[str]) -> list[dict[str, Any]]:
    """The sections as the page shows them: figures and charts numbered through, and only what is not said of all."""
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


# The page: its template filled in, with its libraries, its style and its data inside.

FOLDER = Path(__file__).parent
SCRIPTS = ("unpack.js", "charts.js", "run.js", "together.js", "page.js")


def page(shown: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The HTML.  shown: what the template names; data: what its scripts read.

    Raises ConfigError, saying what to install, where a library is missing.
    """
    try:
        import itables
        import jinja2
        from plotly.offline import get_plotlyjs
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"The report needs {error.name}, which is not installed; `pip install -e '.[report]'` in the clone "
            "installs all that it needs."
        ) from error
    library = Path(itables.options.dt_bundle)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    inside = {
        "style": _read("page.css"),
        "table_style": library.with_suffix(".css").read_text(encoding="utf-8"),
        "table_library": library.read_text(encoding="utf-8"),
        "plotly": get_plotlyjs(),
        "scripts": [_read(name) for name in SCRIPTS],
        "data": packed(data),
    }
    safe = {name: _inside(part) for name, part in inside.items()}
    return environment.get_template("page.html").render(**shown, **safe)


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _inside(part: str | list[str]) -> Any:
    """Code that is ours or a library's, as it is; where it held the end of a script, the page would end there."""
    from markupsafe import Markup

    if isinstance(part, list):
        return [_inside(one) for one in part]
    return Markup(part.replace("</script", r"<\/script").replace("</style", r"<\/style"))
