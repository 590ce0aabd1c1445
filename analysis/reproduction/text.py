"""The reproduction as text for a terminal or as Markdown."""

from collections.abc import Sequence

from tabulate import tabulate

from analysis.names import ACTIVATIONS, BENCHMARKS, INTERVENTIONS, display
from analysis.reported.reported import lines
from analysis.reproduction.cells import PAPERS_SEEDS, PRINTED, Compared, printed
from analysis.reproduction.scores import Ranks, misses, ranks, share, shares

NOTHING = "–"


def printed_cells() -> dict[str, int]:
    """The paper's tables of results → how many cells each prints; numbers printed twice count once."""
    others = {
        "Table 1": "table1_split_cifar100.csv",
        "Table F1": "tableF1_plasticity_score.csv",
        "Table F2": "tableF2_reward.csv",
        "Table F3": "tableF3_gap_delta.csv",
    }
    counted = {name: len(printed(file)) for file, (name, _) in PRINTED.items()}
    return {**counted, **{name: len(lines(file)) for name, file in others.items()}}


def headline(cells: Sequence[Compared]) -> str:
    """All of it in one sentence."""
    several, one = [cell for cell in cells if cell.sd is not None], [cell for cell in cells if cell.sd is None]
    total = share("", True, several)
    alone = share("", False, one)
    words = (
        f"{len(cells)} of {sum(printed_cells().values())} printed cells are computed. Of the {total.computed} over "
        f"several seeds, {total.within_sds} lie within two pooled SDs, {total.within[0]} within one point, "
        f"{total.within[1]} within three; Welch's test does not tell {total.not_told_apart} from the paper's (p ≥ 0.05)"
    )
    if one:
        words += f"; of the {alone.computed} of one seed, {alone.within[0]} within one, {alone.within[1]} within three"
    return f"{words}."


def text(cells: Sequence[Compared], markdown: bool = False) -> str:
    """The shares by table, the rank correlations by column, and the misses with what was tried for them."""
    style = "pipe" if markdown else "simple"
    heading = "## {}\n".format if markdown else "{}\n".format
    parts = [
        headline(cells),
        heading(
            "By table: points are percentage points, SDs pooled: √((ours² + the paper's²) / 2); not told apart: by "
            f"Welch's test, p ≥ 0.05, the paper's mean taken as one of {PAPERS_SEEDS} seeds"
        ),
        _table(
            _shares(cells),
            "table|printed|computed|seeds|within 2 SDs|not told apart|within 1 point|within 3 points",
            style,
        ),
        heading("Rank correlation (Spearman) of the activations, by column; cells of one seed included"),
        _table(_ranks(cells), "table|column|activations|correlation", style),
        heading("Misses: farther than two pooled SDs and than one point, the worst first"),
        _table(_misses(cells), "table|column|activation|ours|paper|apart|tried besides", style),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _shares(cells: Sequence[Compared]) -> list[list[object]]:
    found = shares(cells)
    rows: list[list[object]] = []
    for table, cells_printed in printed_cells().items():
        of_table = [one for one in found if one.table == table]
        rows += [
            [
                table,
                cells_printed,
                one.computed,
                "several" if one.several else "one",
                _or_nothing(one.within_sds),
                _or_nothing(one.not_told_apart),
                *one.within,
            ]
            for one in of_table
        ] or [[table, cells_printed, 0, *[NOTHING] * 5]]
    return rows


def _ranks(cells: Sequence[Compared]) -> list[list[object]]:
    return [[one.table, _column(one), one.n, f"{one.correlation:.3f}"] for one in ranks(cells)]


def _misses(cells: Sequence[Compared]) -> list[list[object]]:
    return [
        [
            cell.table,
            _column(cell),
            display(ACTIVATIONS, cell.activation),
            f"{cell.mean:.2f}" + (f" ± {cell.sd:.2f}" if cell.sd is not None else " (one seed)"),
            f"{cell.paper.mean:.2f} ± {cell.paper.sd:.2f}",
            f"{cell.apart:+.2f}",
            "; ".join(f"{tried.words}: {tried.mean:.2f}" for tried in cell.tried) or NOTHING,
        ]
        for cell in misses(cells)
    ]


def _column(of: Compared | Ranks) -> str:
    name = display(BENCHMARKS, of.benchmark)
    return name if of.intervention == "none" else f"{name}, {display(INTERVENTIONS, of.intervention)}"


def _or_nothing(value: int | None) -> object:
    return NOTHING if value is None else value


def _table(rows: Sequence[Sequence[object]], header: str, style: str) -> str:
    return tabulate(rows, header.split("|"), tablefmt=style, disable_numparse=True)
