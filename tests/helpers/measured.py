"""Everything in analysis/measured/ that stored data make: the files by what makes each of them again.

python -m tests.helpers.measured        writes them all, after a change of words; `make measured` does it
"""

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

from analysis.figures.drawing import Asked, Drawing
from analysis.figures.files import csv_text as points
from analysis.figures.named import FIGURES
from analysis.figures.static import pictures
from analysis.origin import rows_of
from analysis.tables import TABLES
from analysis.tables.listing import Listing
from analysis.tables.render import csv_text, latex, markdown, text
from launch.bench.agreement import NAMES, ReturnCurve, drawing, in_words, read

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / "analysis" / "measured"
FORMS: Mapping[str, Callable[[list[Listing]], str]] = {".csv": csv_text, ".md": markdown, ".txt": text, ".tex": latex}
TWO_ORDERS = tuple(MEASURED / f"cifar51_{protocol}" / "table2.json" for protocol in ("as_published", "clean"))
COVERAGE = MEASURED / "coverage"
GAMES = MEASURED / "games"
CASE_STUDIES = MEASURED / "case_studies"
SAC = MEASURED / "sac"
MILLION = MEASURED / "ppo_cleanrl" / "million"
NO_STAGES = "its runs' returns by task were not kept"
NO_RUNS = "the runs of 250,000 steps were not kept"
A_TIMING = "what a measurement of time, or of a cluster, printed: nothing makes it again but measuring"
NOT_MADE: Mapping[str, str] = {
    "mujoco_cycle_reduced/clean/figure6.png": NO_STAGES,
    "mujoco_cycle_reduced/clean/figureF1.png": NO_STAGES,
    **{f"ppo_cleanrl/agreement.{form}": NO_RUNS for form in ("csv", "md", "png")},
    "assays/random_label_mnist.csv": "the results of assays; tests/docs/test_assays_page.py reads them",
    **{f"slurm/{name}.json": A_TIMING for name in ("chaos", "chaos_2", "chaos_3", "jobs")},
    **{f"speed/{path.name}": A_TIMING for path in (MEASURED / "speed").iterdir()},
}
"""Files that nothing stored can make → why."""
DATA = ("packed", "plain", "cleanrl")
"""The .json files of `MILLION`, which are data."""


def makers() -> dict[Path, Callable[[], bytes]]:
    """File → what makes it again, of all that stored data make."""
    found: dict[Path, Callable[[], bytes]] = {}
    for path in sorted(MEASURED.rglob("*")):
        if path.stem in TABLES and path.suffix in FORMS:
            found[path] = partial(_table, path)
    for path in (MEASURED / "cifar51_two_orders", ROOT / "docs" / "pages" / "pictures" / "two_orders"):
        found[path.with_suffix(".png")] = partial(_picture, _two_orders)
    found[MEASURED / "cifar51_two_orders.csv"] = lambda: points(_two_orders()).encode()
    found[MILLION / "agreement.csv"] = lambda: points(_agreement()).encode()
    found[MILLION / "agreement.png"] = partial(_picture, _agreement)
    found[MILLION / "agreement.md"] = _agreement_table
    return found


READ_BY_PAGES = {
    MEASURED / "early_warning/tasks.csv",
    *((MEASURED / "mujoco_cycle_reduced") / f"humanoid_{name}.csv" for name in ("variants", "rollouts")),
}
"""Values of runs, with the pages about them in docs/pages/reproduction."""


def is_data(path: Path) -> bool:
    """Whether a file is what others are made of."""
    if path.parent == COVERAGE:  # a simulation, with the command that made it
        return path.suffix in (".csv", ".json")
    if path.parent in (GAMES, CASE_STUDIES, SAC):  # by the commands of games.md, goldilocks.md, shocks.md and sac.md
        return True
    if path in READ_BY_PAGES:
        return True
    return path.suffix == ".json" and (path.stem in TABLES or (path.parent == MILLION and path.stem in DATA))


def runs_of(path: Path) -> Path:
    """The .json of a stored table; one without its own is made of the same runs as the Table 2 beside it."""
    own = path.with_suffix(".json")
    return own if own.exists() else path.with_name("table2.json")


def _table(path: Path) -> bytes:
    return FORMS[path.suffix](TABLES[path.stem].listings(rows_of(runs_of(path)))).encode()


def _picture(drawn: Callable[[], Drawing]) -> bytes:
    return pictures(drawn())["png"]


@cache
def _two_orders() -> Drawing:
    rows = [row for path in TWO_ORDERS for row in rows_of(path)]
    return FIGURES["two_orders"](Asked(rows, lambda runs: None))


@cache
def _million() -> dict[str, dict[str, list[ReturnCurve]]]:
    return {NAMES[name]: read(MILLION / f"{name}.json", dict) for name in DATA}


def _agreement() -> Drawing:
    return drawing(_million())


def _agreement_table() -> bytes:
    (_, ours), *theirs = _million().items()
    return f"{in_words(ours, dict(theirs))}\n".encode()


if __name__ == "__main__":
    for file, make in makers().items():
        content = make()
        if not file.exists() or file.read_bytes() != content:
            file.write_bytes(content)
            print(f"Written: {file.relative_to(ROOT)}")
