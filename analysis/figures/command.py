"""`python -m analysis figure NAME`: writes a figure as PDF, SVG and PNG, its data as CSV, and itself as JSON."""

import argparse
import sys
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path

from analysis.asked import FILTERS, add_options, folder_of, places_of, rows_asked_for, write
from analysis.figures import style
from analysis.figures.drawing import Asked, Drawing
from analysis.figures.files import files_of, of_file
from analysis.figures.named import FIGURES, READ_BY, SHAPES, named
from analysis.figures.shapes import ACTIVATIONS_FIGURE, WRITING, ActivationCurve, figure, of_text
from analysis.figures.style import SHIPPED, Paper, only
from analysis.frames import metrics_of
from analysis.origin import ENDING, kind_of
from plasticity_lab.errors import ConfigError

OF_RUNS = {"store", "where", *FILTERS}
"""The options that choose the runs of a figure."""
NAMES = ", ".join((*FIGURES, *SHAPES))


def add_command(command: argparse.ArgumentParser) -> None:
    """The options of the command, and the function that runs it."""
    words = f"which one: {NAMES} (6 or F1 will do); or the .json of one, to draw it again"
    command.add_argument("name", nargs="?", help=words)
    command.add_argument(
        "--metric",
        help=f"of {', '.join(READ_BY['metric'])}: a name of the records' summary, or of curves a column of metrics",
    )
    command.add_argument(
        "--by",
        metavar="SETTING",
        help="for sensitivity: the varied setting, such as optimizer.lr; needed if runs differ in several",
    )
    command.add_argument(
        "--curves",
        metavar="FILE",
        help=f"of {ACTIVATIONS_FIGURE}: what `{WRITING}` wrote, - for standard input; default all activations",
    )
    command.add_argument("--lines", nargs="+", metavar="NAME", help="only these lines, by the words of the legend")
    command.add_argument(
        "--own-ranges", action="store_true", help="each panel has its own range; default: comparable panels share one"
    )
    command.add_argument("--width", type=float, metavar="INCHES", help="how wide the pictures are, as 3.25 of a column")
    command.add_argument(
        "--font", metavar="FAMILY", help=f"the font of all text: {', '.join(SHIPPED)}, or one installed here"
    )
    command.add_argument("--font-size", type=float, metavar="POINTS", help=f"default {style.FONT:g}")
    command.add_argument("--no-caption", action="store_true", help="leave the caption out of the pictures")
    add_options(command, "figures")
    command.set_defaults(make=_make)


def _make(asked: argparse.Namespace) -> None:
    name, folder, drawing = _drawn(asked)
    drawing = only(drawing, asked.lines)
    drawing = replace(drawing, own_ranges=asked.own_ranges or drawing.own_ranges)
    files = files_of(drawing, Paper(asked.width, asked.font, asked.font_size, not asked.no_caption))
    out = asked.out or folder
    for ending, content in files.items():
        write(out / f"{name}.{ending}", content)
    print("\n".join([drawing.title, *drawing.caption]))
    print(f"Written: {out / name}.{{{','.join(files)}}}")


def _drawn(asked: argparse.Namespace) -> tuple[str, Path, Drawing]:
    """The name of the files, the default folder for them, and the drawing.  Raises ConfigError."""
    if asked.name is None and asked.store and len(asked.store) == 1 and kind_of(asked.store[0]) == "figure":
        (file,), asked.store = asked.store, None
        asked.name = str(file)
    if asked.name is None:
        raise ConfigError(f"Name a figure: {NAMES}; or the .json of one, to draw it again.")
    if asked.name.endswith(ENDING):
        file = Path(asked.name)
        _check_read(asked, OF_RUNS | {*READ_BY}, f"{file} is drawn again as it is")
        return file.stem, file.parent, of_file(file)
    name = named(asked.name)
    unread = {option for option, figures in READ_BY.items() if name not in figures}
    _check_read(asked, unread, f"the figure {name} does not read it")
    if name in SHAPES:
        _check_read(asked, OF_RUNS - {"store"}, f"the figure {name} is of activations themselves, and of no runs")
        folder = folder_of(asked)
        return name, (folder if folder.is_dir() else Path()) / "figures", figure(name, _curves(asked.curves))
    folder, rows = rows_asked_for(asked)
    of_runs = Asked(rows, partial(metrics_of, places_of(asked), rows), asked.metric, asked.by)
    return name, folder / "figures", FIGURES[name](of_runs)


def _check_read(asked: argparse.Namespace, unread: Collection[str], why: str) -> None:
    """Raises ConfigError for an option that is given and would change nothing."""
    for option in sorted(unread):
        if getattr(asked, option) is not None:
            readers = f"; it is for `figure {'|'.join(READ_BY[option])}`" if option in READ_BY else ""
            raise ConfigError(f"--{option} would change nothing: {why}{readers}. Leave it out.")


def _curves(source: str | None) -> list[ActivationCurve] | None:
    """The curves of a file, or of standard input.  Raises ConfigError if it cannot be read."""
    if source is None:
        return None
    if source == "-":
        return of_text(sys.stdin.read(), "standard input")
    try:
        return of_text(Path(source).expanduser().read_text(encoding="utf-8"), source)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise ConfigError(f"Cannot read {source}: {reason}; `{WRITING} --out FILE` writes curves.") from error
