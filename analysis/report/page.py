"""The page: its template filled in, with its libraries, its style and its data inside."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.report.packed import packed
from plasticity_lab.errors import ConfigError

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
