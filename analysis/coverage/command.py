"""`python -m analysis coverage`: how often each interval holds the truth, by simulation."""

import argparse
import csv
import io
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import astuple, fields
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import tabulate

from analysis.asked import write
from analysis.coverage.further import CASES, Found, covered
from analysis.coverage.simulation import LAWS, OF, Cell, Covered, Sizes, simulated
from analysis.coverage.warned import ARMS, SIZES, Warned, warned
from analysis.coverage.warned import LAWS as WARNED_LAWS
from analysis.reported import lines_of
from analysis.statistics.method import FOLDER, file_of

FURTHER, WARNINGS = "further", "warnings"
"""The names of the files of the further laws, and of how often captions warn."""
COLUMNS = ("of", "method", "distribution", "seeds", "tasks", "datasets", "intervals", "without", "coverage")


def add_command(command: argparse.ArgumentParser) -> None:
    """Adds the options and the action of the command."""
    command.add_argument("--of", nargs="+", choices=OF, default=[*OF], metavar="WHAT", help=f"of {', '.join(OF)}")
    command.add_argument("--distribution", nargs="+", choices=LAWS, default=[*LAWS], help="which made-up runs")
    command.add_argument("--seeds", nargs="+", type=_least(2), default=[2, 3, 5, 10, 20], metavar="N")
    command.add_argument("--tasks", nargs="+", type=_least(1), default=[1, 4, 20], metavar="M")
    command.add_argument(
        "--datasets", type=_least(1), default=4000, help="data sets of each size, for intervals without resampling"
    )
    command.add_argument("--few", type=_least(1), default=2000, help="data sets of each size for a bootstrap")
    command.add_argument("--replicates", type=_least(2), default=500, help="of each bootstrap")
    command.add_argument("--seed", type=int, default=0, help="seed of the simulated runs")
    command.add_argument("--workers", type=_least(1), default=1, help="processes")
    command.add_argument(
        "--out", type=Path, help="a folder for a file of each; without it the numbers are printed alone"
    )
    command.add_argument(
        "--stored", action="store_true", help="print the stored results, as on the page about statistics"
    )
    command.add_argument("--further", action="store_true", help="runs such as one seed in ten that collapses; one task")
    command.add_argument("--warnings", action="store_true", help="how often captions warn of gaps and of skewed runs")
    command.set_defaults(make=_make)


def _least(least: int) -> Callable[[str], int]:
    def whole(word: str) -> int:
        number = int(word)
        if number < least:
            raise argparse.ArgumentTypeError(f"{number} is less than {least}")
        return number

    return whole


def _make(asked: argparse.Namespace) -> None:
    if asked.stored:
        print(further_table() if asked.further else warnings_table() if asked.warnings else tables())
        return
    if asked.further:
        _make_further(asked)
        return
    if asked.warnings:
        _make_warnings(asked)
        return
    sizes = Sizes(asked.datasets, asked.few, asked.replicates, asked.seed)
    cells = [
        Cell(of, law, seeds, tasks)
        for of in asked.of
        for law in asked.distribution
        for tasks in sorted(set(asked.tasks))
        for seeds in sorted(set(asked.seeds))
    ]
    begun, found = time.monotonic(), {}
    for many, (cell, lines) in enumerate(_all(cells, sizes, asked.workers), start=1):
        found[cell] = lines
        said = ", ".join(f"{line.method} {100 * line.coverage:.1f} %" for line in lines)
        minutes = (time.monotonic() - begun) / 60
        print(
            f"{many}/{len(cells)}, {minutes:.1f} min: {cell.of}, {cell.distribution}, {cell.seeds} seeds × "
            f"{cell.tasks} tasks: {said}",
            file=sys.stderr,
            flush=True,
        )
    for of in dict.fromkeys(asked.of):
        content = csv_text([line for cell in cells if cell.of == of for line in found[cell]])
        if asked.out is None:
            print(content, end="")
            continue
        for ending, text in (("csv", content), ("json", json.dumps(_how(asked, of), indent=1) + "\n")):
            write(asked.out / f"{file_of(of)}.{ending}", text.encode())
        print(f"Written: {asked.out / file_of(of)}.{{csv,json}}")


def _make_further(asked: argparse.Namespace) -> None:
    seeds = [many for many in sorted(set(asked.seeds)) if many > 2]
    found = []
    for case in CASES:
        found += [covered(case, many, asked.datasets, asked.seed) for many in seeds]
        print(f"{case.of}, {case.words}", file=sys.stderr, flush=True)
    _store(asked, FURTHER, [fields(Found), *found], f"--further --seeds {' '.join(map(str, seeds))}")


def _make_warnings(asked: argparse.Namespace) -> None:
    sizes = [(law, arms, *size) for law in WARNED_LAWS for arms in ARMS for size in SIZES if arms > 1 or size[1] == 1]
    found = [warned(*size, asked.datasets, asked.seed) for size in sizes]
    _store(asked, WARNINGS, [fields(Warned), *found], "--warnings")


def _store(asked: argparse.Namespace, name: str, lines: Sequence[Any], words: str) -> None:
    """Writes or prints a simulation.  lines: the fields of a dataclass, then its instances."""
    header, *found = lines
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([each.name for each in header])
    writer.writerows([_four(value) for value in astuple(each)] for each in found)
    if asked.out is None:
        print(file.getvalue(), end="")
        return
    command = f"python -m analysis coverage {words} --datasets {asked.datasets} --seed {asked.seed}"
    how = {"command": " ".join([command, *_out(asked)]), **_versions()}
    for ending, text in (("csv", file.getvalue()), ("json", json.dumps(how, indent=1) + "\n")):
        write(asked.out / f"{name}.{ending}", text.encode())
    print(f"Written: {asked.out / name}.{{csv,json}}")


def _four(value: Any) -> Any:
    """Fractions with four decimals, empty if undefined."""
    return value if not isinstance(value, float) else "" if math.isnan(value) else f"{value:.4f}"


def _all(cells: Sequence[Cell], sizes: Sizes, workers: int) -> Iterator[tuple[Cell, list[Covered]]]:
    """Yields the cells as they end; the largest start first, so that no cell ends long after the others."""
    first = sorted(cells, key=lambda cell: -cell.seeds * cell.tasks)
    if workers == 1:
        yield from ((cell, simulated(cell, sizes)) for cell in first)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        cell_of = {pool.submit(simulated, cell, sizes): cell for cell in first}
        yield from ((cell_of[done], done.result()) for done in as_completed(cell_of))


def csv_text(lines: Sequence[Covered]) -> str:
    """One line for each method of each cell; the coverage is empty if no data set had an interval."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in lines:
        cell, said = line.cell, f"{line.coverage:.4f}" if line.looked_at else ""
        writer.writerow([
            cell.of, line.method, cell.distribution, cell.seeds, cell.tasks, line.datasets, line.looked_at,
            f"{line.without:.4f}", said,
        ])  # fmt: skip
    return file.getvalue()


def _how(asked: argparse.Namespace, of: str) -> dict[str, str]:
    """The command that makes a file again, and the versions of the libraries that made it."""
    words = ["python -m analysis coverage", "--of", f"'{of}'" if " " in of else of]
    for name in ("distribution", "seeds", "tasks"):
        words += [f"--{name}", *map(str, getattr(asked, name))]
    for name in ("datasets", "few", "replicates", "seed"):
        words += [f"--{name}", str(getattr(asked, name))]
    return {"command": " ".join([*words, *_out(asked)]), **_versions()}


def _out(asked: argparse.Namespace) -> list[str]:
    return ["--out", "/".join(FOLDER.parts[-3:])] if asked.out.resolve() == FOLDER else []


def _versions() -> dict[str, str]:
    return {"numpy": version("numpy"), "scipy": version("scipy")}


# The stored simulation as the tables of docs/pages/reference/coverage.md; `python -m analysis coverage --stored`
# prints them.

Line = Mapping[str, str]


def tables() -> str:
    """One Markdown table: each method's coverage in percent, by number of seeds, for normal / skewed / two-humped runs.

    The results are read from the stored simulation.
    """
    lines = [line for of in OF for line in _stored(of)]
    seeds = sorted({int(line["seeds"]) for line in lines})
    found: dict[tuple[str, str, int], dict[int, dict[str, str]]] = {}
    for line in lines:
        key = line["of"], line["method"], int(line["tasks"])
        found.setdefault(key, {}).setdefault(int(line["seeds"]), {})[line["distribution"]] = _percent(line)
    body = [
        [of, method, tasks, *(" / ".join(by_seeds.get(many, {}).values()) for many in seeds)]
        for (of, method, tasks), by_seeds in found.items()
    ]
    header = ["of", "method", "tasks", *(f"{many} seeds" for many in seeds)]
    return tabulate.tabulate(body, header, tablefmt="pipe", disable_numparse=True)


def further_table() -> str:
    """The further laws as a Markdown table: the coverage in percent by number of seeds, from the stored simulation."""
    lines = lines_of(FOLDER / f"{FURTHER}.csv")
    seeds = sorted({int(line["seeds"]) for line in lines})
    found: dict[tuple[str, str], dict[int, str]] = {}
    for line in lines:
        found.setdefault((line["law"], line["of"]), {})[int(line["seeds"])] = _percent(line)
    body = [[*names, *(by_seeds[many] for many in seeds)] for names, by_seeds in found.items()]
    header = ["runs", "interval of", *(f"{many} seeds" for many in seeds)]
    return tabulate.tabulate(body, header, tablefmt="pipe", disable_numparse=True)


def warnings_table() -> str:
    """How often a table warns, in percent of the stores by number of seeds, from the stored simulation."""
    found: dict[tuple[str, str], dict[tuple[int, float], str]] = {}
    for line in lines_of(FOLDER / f"{WARNINGS}.csv"):
        shares = (f"{100 * float(line[name]):.0f}" for name in ("gap", "any"))
        size = int(line["seeds"]), float(line["unequal"])
        found.setdefault((line["law"], line["arms"]), {})[size] = " / ".join(shares)
    header = ["runs", "arms", *(f"{many} seeds, {unequal:g}" for many, unequal in SIZES)]
    body = [[*names, *(cells.get(size, "–") for size in SIZES)] for names, cells in found.items()]
    return tabulate.tabulate(body, header, "pipe", disable_numparse=True)


def _stored(of: str) -> Sequence[Line]:
    path = FOLDER / f"{file_of(of)}.csv"
    return lines_of(path) if path.exists() else []


def _percent(line: Line) -> str:
    """A whole percentage; "–" if no data set had an interval, with "*" if more than one in ten had none."""
    if not line["coverage"]:
        return "–"
    return f"{100 * float(line['coverage']):.0f}" + "*" * (float(line["without"]) > 0.1)
