"""The summary of the reproduction: the same in README.md and on the site, made from the measured cells."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.names import ACTIVATIONS, BENCHMARKS, INTERVENTIONS, display
from analysis.reproduction.cells import Compared, share
from analysis.rows import grouped
from analysis.tables.listing import NOTHING

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    ROOT / "README.md": "docs/pages/reproduction/",
    ROOT / "docs/pages/index.md": "reproduction/",
    ROOT / "docs/pages/reproduction/index.md": "",
}
"""The pages with the summary, and the way from each to the pages of the studies."""
BEGIN, END = "<!-- python -m analysis reproduction --pages: begin -->", "<!-- end -->"
METRICS = {"Table 2": "TAOA", "Tables G2, G3": "TAOA", "Table E3": "GAP", "Tables E4–E8": "with interventions"}
"""A table of the paper → the name of its cells in the summary."""
STUDIES = {"continual_imagenet": "first_paper"}
"""The page of a benchmark, if it does not have the benchmark's name."""
WITH_INTERVENTIONS = {"permuted_mnist": "permuted_mnist_interventions", "cifar51": "cifar51_interventions"}


def headline(cells: Sequence[Compared], printed: int) -> str:
    """The reproduction in one sentence.  printed: the number of cells in the paper's tables of results."""
    total, alone = (share([cell for cell in cells if (cell.sd is None) == one]) for one in (False, True))
    words = (
        f"{len(cells)} of {printed} printed cells are computed. Among the {total.computed} over "
        f"several seeds, {total.within_sds} lie within two pooled SDs, {total.within[0]} within one point, "
        f"{total.within[1]} within three; {total.not_told_apart} do not differ significantly by Welch's test (p ≥ "
        f"0.05), and {total.equal} are shown equal within a point (two one-sided tests, p < 0.05)"
    )
    if alone.computed:
        words += (
            f"; among the {alone.computed} of one seed, {alone.within[0]} within one, {alone.within[1]} within three"
        )
    return f"{words}."


def summary(cells: Sequence[Compared], printed: int, pages: str) -> str:
    """The sentence and a row for each benchmark and metric, as Markdown.  pages: the way to the studies' pages."""
    lines = [
        headline(cells, printed),
        "",
        "| benchmark | metric | computed | several seeds: within two SDs | within three points | worst miss |",
        "| --- | --- | --- | --- | --- | --- |",
        *_rows(cells, pages),
    ]
    return "\n".join(lines)


def _rows(cells: Sequence[Compared], pages: str) -> Iterator[str]:
    for (benchmark, metric), of_row in grouped(cells, lambda cell: (cell.benchmark, METRICS[cell.table])).items():
        several = share([cell for cell in of_row if cell.sd is not None])
        study = STUDIES.get(benchmark, benchmark)
        study = WITH_INTERVENTIONS.get(study, study) if metric == "with interventions" else study
        within = f"{several.within_sds} of {several.computed}" if several.computed else NOTHING
        worst = max(of_row, key=lambda cell: abs(cell.apart))
        words = [
            f"[{display(BENCHMARKS, benchmark)}]({pages}{study}.md)",
            metric,
            str(len(of_row)),
            within,
            str(share(of_row).within[1]),
            _miss(worst),
        ]
        yield f"| {' | '.join(words)} |"


def _miss(cell: Compared) -> str:
    name = display(ACTIVATIONS, cell.activation)
    if cell.intervention != "none":
        name = f"{name}, {display(INTERVENTIONS, cell.intervention)}"
    return f"{name}: {cell.mean:.2f} (paper {cell.paper.mean:.2f})"


def on_page(text: str, block: str) -> str:
    """The text of a page with the block between its two markers."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{block}\n{END}{rest.partition(END)[2]}"
