"""`python -m analysis figure NAME`: writes a figure as PDF, SVG and PNG, what it shows as CSV, and itself as JSON."""

import argparse
import sys
from functools import partial
from pathlib import Path

from analysis.asked import add_options, folder_of, places_of, rows_asked_for, write
from analysis.derived.curves import WRITING, ActivationCurve, of_text
from analysis.figures import FIGURES, SHAPES, named, style
from analysis.figures.asked import Asked
from analysis.figures.drawing import Drawing
from analysis.figures.numbers import csv_text
from analysis.figures.paper import SHIPPED, Paper, only
from analysis.figures.shapes import ACTIVATIONS_FIGURE, figure
from analysis.figures.static import pictures
from analysis.figures.stored import ENDING, as_json, of_file
from analysis.read_metrics import metrics_of
from plasticity_lab.errors import ConfigError


def add_command(command: argparse.ArgumentParser) -> None:
    """The options of the command, and what it does."""
    words = f"which one: {', '.join((*FIGURES, *SHAPES))} (6 or F1 will do); or the .json of one, to draw it again"
    command.add_argument("name", help=words)
    command.add_argument("--metric", help="a name of the records' summary, of curves a column of metrics.parquet")
    command.add_argument("--by", metavar="SETTING", help="of sensitivity: the setting that is varied, as optimizer.lr")
    command.add_argument(
        "--curves",
        metavar="FILE",
        help=f"of {ACTIVATIONS_FIGURE}: what `{WRITING}` wrote, - for standard input; default all activations",
    )
    command.add_argument("--lines", nargs="+", metavar="NAME", help="only these lines, by the words of the legend")
    command.add_argument("--width", type=float, metavar="INCHES", help="how wide the pictures are, as 3.25 of a column")
    command.add_argument("--font", metavar="FAMILY", help=f"of all words: {', '.join(SHIPPED)}, or one installed here")
    command.add_argument("--font-size", type=float, metavar="POINTS", help=f"default {style.FONT:g}")
    command.add_argument("--no-caption", action="store_true", help="leave the caption out of the pictures")
    add_options(command, "figures")
    command.set_defaults(make=_make)


def _make(asked: argparse.Namespace) -> None:
    name, folder, drawing = _drawn(asked)
    drawing = only(drawing, asked.lines)
    paper = Paper(asked.width, asked.font, asked.font_size, not asked.no_caption)
    files = {**pictures(drawing, paper), "csv": csv_text(drawing).encode(), "json": as_json(drawing).encode()}
    out = asked.out or folder
    for ending, content in files.items():
        write(out / f"{name}.{ending}", content)
    print("\n".join([drawing.title, *drawing.caption]))
    print(f"Written: {out / name}.{{{','.join(files)}}}")


def _drawn(asked: argparse.Namespace) -> tuple[str, Path, Drawing]:
    """The name of the files, the folder where they go by default, and what is drawn.  Raises ConfigError."""
    if asked.name.endswith(ENDING):
        file = Path(asked.name)
        return file.stem, file.parent, of_file(file)
    name = named(asked.name)
    return name, *(_of_shapes(name, asked) if name in SHAPES else _of_runs(name, asked))


def _of_runs(name: str, asked: argparse.Namespace) -> tuple[Path, Drawing]:
    if asked.curves is not None:
        raise ConfigError(f"--curves is for `figure {ACTIVATIONS_FIGURE}`; {name} is drawn from runs.")
    folder, rows = rows_asked_for(asked)
    metrics = partial(metrics_of, places_of(asked), rows)
    return folder / "figures", FIGURES[name](Asked(rows, metrics, asked.metric, asked.by))


def _of_shapes(name: str, asked: argparse.Namespace) -> tuple[Path, Drawing]:
    """Into the store where there is one, else into a folder here: none is needed.  Raises ConfigError."""
    if name != ACTIVATIONS_FIGURE and asked.curves is not None:
        raise ConfigError(
            f"--curves is for `figure {ACTIVATIONS_FIGURE}`; {name} has the settings that the paper names."
        )
    folder = folder_of(asked)
    return (folder if folder.is_dir() else Path()) / "figures", figure(name, _curves(asked.curves))


def _curves(source: str | None) -> list[ActivationCurve] | None:
    """Those of a file, or of standard input.  Raises ConfigError if it cannot be read."""
    if source is None:
        return None
    if source == "-":
        return of_text(sys.stdin.read(), "standard input")
    try:
        return of_text(Path(source).expanduser().read_text(encoding="utf-8"), source)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise ConfigError(f"Cannot read {source}: {reason}; `{WRITING} --out FILE` writes curves.") from error
