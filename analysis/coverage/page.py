"""The stored simulation as the tables of docs/statistics.md: `python -m analysis coverage --stored` prints them."""

from collections.abc import Mapping, Sequence

import tabulate

from analysis.coverage.laws import LAWS
from analysis.coverage.methods import OF
from analysis.reported.reported import lines_of
from analysis.statistics.covered import FOLDER, file_of

Line = Mapping[str, str]


def tables() -> str:
    """One table in Markdown, what a method covers in percent by seeds: for normal / skewed / two-humped runs."""
    lines = [line for of in OF for line in _stored(of)]
    seeds = sorted({int(line["seeds"]) for line in lines})
    found: dict[tuple[str, str, int], dict[int, dict[str, str]]] = {}
    for line in lines:
        key = line["of"], line["method"], int(line["tasks"])
        found.setdefault(key, {}).setdefault(int(line["seeds"]), {})[line["distribution"]] = _percent(line)
    body = [
        [of, method, tasks, *(_cell(by_seeds.get(many, {})) for many in seeds)]
        for (of, method, tasks), by_seeds in found.items()
    ]
    header = ["of", "method", "tasks", *(f"{many} seeds" for many in seeds)]
    return tabulate.tabulate(body, header, tablefmt="pipe", disable_numparse=True)


def _stored(of: str) -> Sequence[Line]:
    path = FOLDER / f"{file_of(of)}.csv"
    return lines_of(path) if path.exists() else []


def _percent(line: Line) -> str:
    """Whole percents; – where no data set had an interval, * where more than one in ten had none."""
    if not line["coverage"]:
        return "–"
    return f"{100 * float(line['coverage']):.0f}" + "*" * (float(line["without"]) > 0.1)


def _cell(by_law: Mapping[str, str]) -> str:
    return " / ".join(by_law[law] for law in LAWS if law in by_law)
