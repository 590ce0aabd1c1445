"""Every check, over the tables of this repository."""

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from analysis.check_paper import counts
from analysis.check_paper.aggregates import check_aggregates, check_final_accuracies, check_spread
from analysis.check_paper.finding import Finding
from analysis.check_paper.grids import Grid, check_learning_rates, check_settings, check_strengths
from analysis.check_paper.implied import check_failures, check_points, check_resolution
from analysis.check_paper.ranks import check_order, check_significance
from analysis.check_paper.repeated import check_numbers_in_text, check_repeated_column, check_same_cells
from analysis.check_paper.sheets import sheets
from analysis.reported.reported import lines, lines_of

CONF = Path(__file__).resolve().parents[2] / "conf"
OF_TABLE_G4 = ("rselu", "bo_prelu")
TABLE_OF = {"l2_init": "Table E9", "snr": "Table E10", "ewc": "Table E11"}
OF_ALL_ACTIVATIONS = [f"Table {name}" for name in "2 E3 E4 E5 E6 E7 E8 F1 F2 F3".split()]
EXAMPLES = {
    "permuted_mnist": 10_000,
    "random_label_mnist": 1200,
    "random_label_cifar": 1200,
    "cifar51": 500,
    "continual_imagenet": 50,
}
"""How many images evaluate one task: the test set; the training images, if labels are random; the test images of five
classes, and of two.
"""


def findings() -> list[Finding]:
    """Everything checked, table by table in the order of the paper."""
    found = [*_of_results(), *_of_settings(), *_of_counts()]
    return sorted(found, key=lambda finding: (_place(finding.table), finding.claim))


def _of_results() -> Iterator[Finding]:
    tables = sheets()
    yield from check_significance(lines("claims_significance.csv"), tables)
    yield from check_order(lines("claims_order.csv"), tables)
    yield from check_numbers_in_text(lines("claims_numbers.csv"), tables)
    yield from check_points(lines("claims_correlations.csv"))
    online = tables["Table 2"]
    interventions = {name: tables[f"Table E{n}"] for name, n in zip(online.columns(), range(4, 9), strict=True)}
    yield from check_final_accuracies(online, tables["Table E3"])
    yield from check_repeated_column(online, interventions)
    averages = "the columns are averages over all tasks (Appendix E.3: TAOA)"
    yield from check_resolution(interventions, EXAMPLES, averages)
    deltas, printed = tables["Table F3"], ["delta_mean", "delta_ci95", "iqm_delta"]
    yield from check_failures(tables["Table F2"], deltas)
    yield from check_aggregates(deltas)
    yield from check_aggregates(tables["Table 4"])
    yield from check_same_cells(tables["Table 4"], deltas, ["env", "activation"], printed)
    yield from check_same_cells(tables["Table 3"], tables["Table F1"], ["activation"], ["iqm", "ci95_half_width"])


def _of_settings() -> Iterator[Finding]:
    bests = _bests()
    extra = [best for best in bests if best["activation"] in OF_TABLE_G4]
    main = [best for best in bests if best not in extra]
    reused = lines_of(CONF / "published" / "best_with_interventions.csv")
    case_study, both = _grids("case_study"), "Table B1 and Appendix B.4"
    benchmarks = {**case_study, **_grids("benchmarks")}
    yield from check_settings("Table B2", "Table B1", _bests("split_cifar100"), case_study)
    yield from check_settings("Table E2", both, main, benchmarks)
    yield from check_settings("Table F1", both, lines("tableF1_plasticity_score.csv"), benchmarks)
    yield from check_settings("Table G4", both, extra, benchmarks)
    yield from check_strengths(reused, lines("claims_grids.csv"), TABLE_OF)
    yield from check_learning_rates(reused, bests, TABLE_OF)


def _of_counts() -> Iterator[Finding]:
    tables = sheets()
    case_study, main = _grids("case_study"), [best for best in _bests() if best["activation"] not in OF_TABLE_G4]
    for said in lines("claims_counts.csv"):
        match said["what"]:
            case "settings":
                yield from counts.check_settings_counted(said, case_study[said["of"]][0])
            case "preferred learning rate":
                yield counts.check_preferred_rate(said, main)
            case "wider differences":
                yield from check_spread(said, tables["Table 1"])
            case "environments":
                environments = {name: tables[name].rows for name in ("Table 4", "Table F2", "Table F3")}
                yield from counts.check_environments(said, environments)
            case what:
                raise ValueError(f"claims_counts.csv: nothing checks '{what}'.")
    activations = {name: {row["activation"] for row in tables[name].rows} for name in OF_ALL_ACTIVATIONS}
    yield from counts.check_timesteps(lines("tableE1_schedule.csv"))
    yield from counts.check_rows(activations, "Table 2")
    yield from counts.check_labels(lines("labels.csv"))


def _bests(which: str = "supervised") -> list[dict[str, str]]:
    return lines_of(CONF / "published" / f"best_{which}.csv")


def _grids(which: str) -> dict[str, list[Grid]]:
    """Activation → the grids that the paper prints for the case studies, or for the benchmarks."""
    grids = {}
    for path in sorted((CONF / "activation").glob("*.yaml")):
        printed = (yaml.safe_load(path.read_text(encoding="utf-8")).get("grids") or {}).get(which, {}).get("paper")
        if printed:
            grids[path.stem] = printed if isinstance(printed, list) else [printed]
    return grids


def _place(table: str) -> tuple[int, str, int]:
    """A sort key: tables of the main text, appendix tables by letter and number, figures, claims about all tables."""
    found = re.fullmatch(r"(Table|Figure)s? ([A-Z]?)(\d+).*", table)
    if found is None:
        return 2, "", 0
    kind, letter, number = found.groups()
    return int(kind == "Figure"), letter, int(number)
