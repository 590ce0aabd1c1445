"""`python -m analysis reproduction`: how close the measured tables are to the paper's, as text or Markdown."""

import argparse
from collections.abc import Iterable, Sequence
from functools import partial

from tabulate import tabulate

from analysis.names import ACTIVATIONS, BENCHMARKS, INTERVENTIONS, display
from analysis.reported import lines
from analysis.reproduction.cells import (
    PRINTED,
    Compared,
    Ranks,
    compared,
    misses,
    printed,
    ranks,
    share,
)
from analysis.reproduction.summary import PAGES, headline, on_page, summary
from analysis.rows import grouped
from analysis.tables.listing import NOTHING
from analysis.tables.paper import PAPERS_SEEDS

NOT_MEASURED = {
    "Table 1": "table1_split_cifar100.csv",
    "Table F1": "tableF1_plasticity_score.csv",
    "Table F2": "tableF2_reward.csv",
    "Table F3": "tableF3_gap_delta.csv",
}


def add_command(command: argparse.ArgumentParser) -> None:
    """Adds the options of the command, and the function that runs it."""
    command.add_argument("--markdown", action="store_true", help="as Markdown")
    command.add_argument("--pages", action="store_true", help="write the summary into README.md and the site's page")
    command.set_defaults(make=_make)


def _make(asked: argparse.Namespace) -> None:
    if not asked.pages:
        print(text(compared(), asked.markdown), end="")
        return
    for page, way in PAGES.items():
        page.write_text(on_page(page.read_text(), summary(compared(), sum(printed_cells().values()), way)))
        print(f"Written: {page}")


def printed_cells() -> dict[str, int]:
    """The paper's tables of results → the number of printed cells; cells that are printed twice count once."""
    counts = {name: len(printed(file)) for file, (name, _) in PRINTED.items()}
    return counts | {name: len(lines(file)) for name, file in NOT_MEASURED.items()}


def text(cells: Sequence[Compared], markdown: bool = False) -> str:
    """The shares by table, the rank correlations by column, and the misses with their other measurements."""
    table = partial(tabulate, tablefmt="pipe" if markdown else "simple", disable_numparse=True)
    heading = "## {}\n".format if markdown else "{}\n".format
    of_tables = ["table", "printed", "computed", "seeds", "within 2 SDs", "not different", "shown equal"]
    parts = [
        headline(cells, sum(printed_cells().values())),
        heading(
            "By table: points are percentage points, SDs pooled: √((ours² + the paper's²) / 2); not different: by "
            f"Welch's test, p ≥ 0.05, the paper's mean taken as one of {PAPERS_SEEDS} seeds; shown equal: within a "
            "point, by two one-sided tests, p < 0.05"
        ),
        table(_shares(cells), [*of_tables, "within 1 point", "within 3 points"]),
        heading("Rank correlation (Spearman) of the activations, by column; cells of one seed included"),
        table(
            [[ranked.table, _column(ranked), ranked.n, f"{ranked.correlation:.3f}"] for ranked in ranks(cells)],
            ["table", "column", "activations", "correlation"],
        ),
        heading("Misses: farther than two pooled SDs and than one point, the worst first"),
        table(map(_miss, misses(cells)), ["table", "column", "activation", "ours", "paper", "apart", "tried besides"]),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _shares(cells: Sequence[Compared]) -> Iterable[list[object]]:
    groups = grouped(cells, lambda cell: (cell.table, "one" if cell.sd is None else "several"))
    for table, count in printed_cells().items():
        of_table = {seeds: share(group) for (name, seeds), group in groups.items() if name == table}
        for seeds, near in of_table.items():
            shown = [NOTHING] * 3 if seeds == "one" else [near.within_sds, near.not_told_apart, near.equal]
            yield [table, count, near.computed, seeds, *shown, *near.within]
        if not of_table:
            yield [table, count, 0, *[NOTHING] * 6]


def _miss(cell: Compared) -> list[object]:
    return [
        cell.table,
        _column(cell),
        display(ACTIVATIONS, cell.activation),
        f"{cell.mean:.2f}" + (f" ± {cell.sd:.2f}" if cell.sd is not None else " (one seed)"),
        f"{cell.paper.mean:.2f} ± {cell.paper.sd:.2f}",
        f"{cell.apart:+.2f}",
        "; ".join(f"{tried.words}: {tried.mean:.2f}" for tried in cell.tried) or NOTHING,
    ]


def _column(of: Compared | Ranks) -> str:
    name = display(BENCHMARKS, of.benchmark)
    return name if of.intervention == "none" else f"{name}, {display(INTERVENTIONS, of.intervention)}"
