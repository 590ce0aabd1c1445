"""`python -m plasticity_lab.taxonomy derive|facts|curves`: the properties of activations as functions, as data.

Each activation is taken from a run that uses it; analysis/derived/README.md describes the data.
"""

import plasticity_lab.process.import_path  # from now on the current folder comes last
import plasticity_lab.process.whole_lab  # noqa: F401 (ends the process with one sentence if packages are missing)

# isort: split
import argparse
import csv
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from launch.command import resolve
from plasticity_lab.component import as_typed, load, typed
from plasticity_lab.errors import ConfigError
from plasticity_lab.process.exits import check_words, leave, status_of
from plasticity_lab.records.files import write_atomically
from plasticity_lab.run import Run
from plasticity_lab.taxonomy.properties import DEFINITIONS, facts, points

ROOT = Path(__file__).resolve().parents[2]
DERIVED = ROOT / "analysis/derived"
AN_EXAMPLE = "activation=swish activation.beta=2"
TABLES = {"best_split_cifar100": "Table B2", "best_supervised": "Table E2", "best_ppo": "Table F1"}
"""File of conf/published → the paper's table, except for the lines of Table G4."""
G4 = ("bo_prelu", "rselu")
BOUNDS = {"alpha_min": 0.6, "alpha_max": 0.8}
FIGURES = {
    "figure5": [("Smooth-Leaky", "smooth_leaky", {"c": 5.0, "p": 3.0, "alpha": 0.1}),
                ("Rand. Smooth-Leaky", "rand_smooth_leaky", {})],
    "figureG1": [("as it starts, α = 0.65", "bo_prelu", {**BOUNDS, "alpha_init": 0.65}),
                 ("α at 0.6, its lower bound", "bo_prelu", {**BOUNDS, "alpha_init": 0.6 + 1e-6}),
                 ("α at 0.8, its upper bound", "bo_prelu", {**BOUNDS, "alpha_init": 0.8 - 1e-6})],
    "figureG2": [("R-SeLU", "rselu", {"lower": 0.9232, "upper": 2.4232})],
}  # fmt: skip
"""The paper's figure → label, activation and settings of each line, from the figure's caption.

The caption gives no bounds for Randomized Smooth-Leaky. A learned slope never reaches its bounds, so it is drawn 1e-6
away from them.
"""


@cache
def defaults() -> dict[str, Run]:
    """Name → a run with that activation of conf/activation, at the settings of its file."""
    return {run.name("activation"): run for run in resolve(["activation=glob(*)"]).runs}


def named(name: str, settings: Mapping[str, Any]) -> Run:
    """A run with an activation at the given settings; all other settings come from conf/activation."""
    run, target = defaults()[name], defaults()[name].targets["activation"]
    complete = typed(load(target), "activation", name, {**run.settings("activation"), **settings})
    return run.with_option("activation", name, target, complete)


def published() -> list[tuple[str, Run]]:
    """(table and benchmark, activation) of every line of the paper's best settings, in its order."""
    lines = []
    for file, table in TABLES.items():
        for line in csv.DictReader((ROOT / f"conf/published/{file}.csv").read_text(encoding="utf-8").splitlines()):
            use = f"{'Table G4' if line['activation'] in G4 else table}, {line['benchmark']}"
            lines.append((use, named(line["activation"], json.loads(line["hyperparameters"]))))
    return lines


def by_words(words: Sequence[str], folder: Path | None = None) -> list[Run]:
    """The runs with the activations that the words of a sweep name.  folder: a folder with further options.

    Raises ConfigError if a word is not an activation or a setting of one, or if no activation is named.
    """
    others = [word for word in words if not word.startswith(("activation=", "activation."))]
    if others or not any(word.startswith("activation=") for word in words):
        wrong = f"'{others[0]}' names no activation and no setting of one" if others else "No activation is named"
        raise ConfigError(f"{wrong}; write as in {AN_EXAMPLE}.")
    return resolve([*words, *(["--config-dir", str(folder)] if folder else [])]).runs


def shape(run: Run) -> dict[str, Any]:
    """The facts of a run's activation, numbers rounded to six decimals."""
    return _described(run, facts, ".6f")


def drawn(run: Run, low: float = -6, high: float = 6, count: int = 121) -> dict[str, Any]:
    """The curve of a run's activation, to six digits."""
    return _described(run, lambda activation: points(activation, low, high, count), ".6g")


def _described(run: Run, read: Callable[[Any], dict[str, Any]], form: str) -> dict[str, Any]:
    """The data of a run's activation, all floats rounded by a format."""
    text = json.dumps(read(run.component("activation")))
    rounded = json.loads(text, parse_float=lambda number: float(format(float(number), form)) + 0.0)
    return {"activation": run.name("activation"), "settings": run.settings("activation"), **rounded}


def activations() -> dict[str, Any]:
    """The definitions, and every activation at its default settings and at each of the paper's best settings.

    Equal settings are listed once, with all their uses: "default", or a table and its benchmark.
    """
    used: dict[str, tuple[Run, list[str]]] = {}
    for use, run in [*(("default", run) for run in defaults().values()), *published()]:
        used.setdefault(f"{run.name('activation')} {as_typed(run.settings('activation'))}", (run, []))[1].append(use)
    shapes = [{"uses": uses, **shape(run)} for run, uses in used.values()]
    return {"definitions": DEFINITIONS, "shapes": sorted(shapes, key=lambda entry: entry["activation"])}


def curves() -> dict[str, Any]:
    """The curves of every activation at its default settings, and of the paper's figures, on [−6, 6]."""
    figures = {
        figure: [{"label": label, **drawn(named(name, settings))} for label, name, settings in lines]
        for figure, lines in FIGURES.items()
    }
    return {"defaults": [drawn(run) for run in defaults().values()], "figures": figures}


def as_text(data: Mapping[str, Any]) -> str:
    """Data as readable JSON with small diffs: one line for each entry of a list or of a mapping."""

    def lines(content: Any) -> str:
        if isinstance(content, list):
            return "[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in content) + "\n]"
        entries = (f"{json.dumps(key)}: {json.dumps(entry, ensure_ascii=False)}" for key, entry in content.items())
        return "{\n" + ",\n".join(entries) + "\n}"

    return "{" + ",\n".join(f"{json.dumps(key)}: {lines(content)}" for key, content in data.items()) + "}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line → its exit status, from `status_of`."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    return status_of(lambda: _run(words))


def _run(words: Sequence[str]) -> int:
    check_words(words)
    asked = _parser().parse_args(words)
    if asked.command == "derive":
        for name, content in {"activations": activations(), "curves": curves()}.items():
            write_atomically(asked.out / f"{name}.json", as_text(content).encode())
        print(f"Written: {asked.out}/{{activations.json,curves.json}}")
        return 0
    low, high = asked.between if asked.command == "curves" else (-6, 6)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ConfigError(f"--between is {low:g} {high:g}; the first number must be below the second, both finite.")
    runs = by_words(asked.words, asked.config_dir)
    if asked.command == "curves":
        text = as_text({"curves": [drawn(run, low, high, 481) for run in runs]})
    else:
        text = as_text({"definitions": DEFINITIONS, "shapes": list(map(shape, runs))})
    if asked.out is None:
        sys.stdout.write(text)
    else:
        write_atomically(asked.out, text.encode())
        print(f"Written: {asked.out}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m plasticity_lab.taxonomy", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    derive = commands.add_parser("derive", help="writes the files that analysis reads: properties, dead bands, curves")
    derive.add_argument("--out", type=Path, default=DERIVED, help="the folder; default analysis/derived")
    words = argparse.ArgumentParser(add_help=False)
    words.add_argument("words", nargs="+", metavar="WORD", help=f"as in a sweep: {AN_EXAMPLE}; several values: a,b")
    words.add_argument("--config-dir", type=Path, help="a folder with your activations")
    words.add_argument("--out", type=Path, help="the file; default standard output")
    drawing = "the curves of any activations; `python -m analysis figure activations --curves FILE` draws them"
    some = commands.add_parser("curves", parents=[words], help=drawing)
    some.add_argument("--between", nargs=2, type=float, default=(-6, 6), metavar=("LOW", "HIGH"), help="default -6 6")
    commands.add_parser(
        "facts", parents=[words], help="properties, dead band, floor, kinks and side of any activations"
    )
    return parser


if __name__ == "__main__":
    leave(main())
