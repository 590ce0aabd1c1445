"""`python -m analysis check-paper`: every check, over the tables of this repository, and its report."""

import argparse
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import yaml

from analysis.check_paper import aggregates, grids, ranks
from analysis.check_paper.sheets import Finding, Verdict, sheets
from analysis.conf import FOLDER
from analysis.reported import lines, lines_of

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
SHOWN_WHOLE = 4
"""Up to this many agreeing findings are all shown; if there are more, only the first and their number."""


def add_command(command: argparse.ArgumentParser) -> None:
    """The options of the command, and the function that runs it."""
    command.add_argument("--disagreements", action="store_true", help="only the claims that do not agree")
    command.set_defaults(make=lambda asked: print(text(findings(), asked.disagreements), end=""))


def text(found: Sequence[Finding], disagreements: bool) -> str:
    """The findings by table and claim, the disagreements first.  disagreements: whether to show no others."""
    wanted = [one for one in found if one.verdict is Verdict.DISAGREES or not disagreements]
    out = []
    for table, of_table in itertools.groupby(wanted, key=lambda finding: finding.table):
        out += ["", table]
        for claim, of_claim in itertools.groupby(of_table, key=lambda finding: finding.claim):
            out.append(f"  {claim}")
            listed = list(of_claim)
            for verdict in (Verdict.DISAGREES, Verdict.OPEN, Verdict.AGREES):
                out += _lines(verdict, [one for one in listed if one.verdict is verdict])
    return "\n".join([*out[1:], "", summary(found)]) + "\n"


def summary(found: Sequence[Finding]) -> str:
    """One sentence: how many claims were checked, and how many of them have a disagreement."""
    claims = {(one.table, one.claim) for one in found}
    broken = {(one.table, one.claim) for one in found if one.verdict is Verdict.DISAGREES}
    counted = Counter(one.verdict for one in found)
    return (
        f"{len(claims)} claims in {len(found)} places: {counted[Verdict.AGREES]} agree, {counted[Verdict.DISAGREES]} "
        f"disagree (of {len(broken)} claims), {counted[Verdict.OPEN]} cannot be told from the printed digits."
    )


def _lines(verdict: Verdict, listed: Sequence[Finding]) -> list[str]:
    if verdict is Verdict.AGREES and len(listed) > SHOWN_WHOLE:
        first = listed[0]
        return [f"    {verdict:<14}  {len(listed)} places, as {first.subject}: {first.arithmetic}"]
    return [f"    {verdict:<14}  {one.subject}: {one.arithmetic}" for one in listed]


def findings() -> list[Finding]:
    """Everything checked, table by table in the order of the paper."""
    found = [*_of_results(), *_of_settings(), *_of_counts()]
    return sorted(found, key=lambda finding: (_place(finding.table), finding.claim))


def _of_results() -> Iterator[Finding]:
    tables = sheets()
    yield from ranks.check_significance(lines("claims_significance.csv"), tables)
    yield from ranks.check_order(lines("claims_order.csv"), tables)
    yield from aggregates.check_numbers_in_text(lines("claims_numbers.csv"), tables)
    yield from ranks.check_points(lines("claims_correlations.csv"))
    online = tables["Table 2"]
    interventions = {name: tables[f"Table E{n}"] for name, n in zip(online.columns(), range(4, 9), strict=True)}
    yield from aggregates.check_final_accuracies(online, tables["Table E3"])
    yield from aggregates.check_repeated_column(online, interventions)
    averages = "the columns are averages over all tasks (Appendix E.3: TAOA)"
    yield from ranks.check_resolution(interventions, EXAMPLES, averages)
    deltas, printed = tables["Table F3"], ["delta_mean", "delta_ci95", "iqm_delta"]
    yield from ranks.check_failures(tables["Table F2"], deltas)
    yield from aggregates.check_aggregates(deltas)
    yield from aggregates.check_aggregates(tables["Table 4"])
    yield from aggregates.check_same_cells(tables["Table 4"], deltas, ["env", "activation"], printed)
    yield from aggregates.check_same_cells(
        tables["Table 3"], tables["Table F1"], ["activation"], ["iqm", "ci95_half_width"]
    )


def _of_settings() -> Iterator[Finding]:
    bests = _bests()
    extra = [best for best in bests if best["activation"] in OF_TABLE_G4]
    main = [best for best in bests if best not in extra]
    reused = lines_of(FOLDER / "published" / "best_with_interventions.csv")
    case_study, both = _grids("case_study"), "Table B1 and Appendix B.4"
    benchmarks = {**case_study, **_grids("benchmarks")}
    yield from grids.check_settings("Table B2", "Table B1", _bests("split_cifar100"), case_study)
    yield from grids.check_settings("Table E2", both, main, benchmarks)
    yield from grids.check_settings("Table F1", both, lines("tableF1_plasticity_score.csv"), benchmarks)
    yield from grids.check_settings("Table G4", both, extra, benchmarks)
    yield from grids.check_strengths(reused, lines("claims_grids.csv"), TABLE_OF)
    yield from grids.check_learning_rates(reused, bests, TABLE_OF)


def _of_counts() -> Iterator[Finding]:
    tables = sheets()
    case_study, main = _grids("case_study"), [best for best in _bests() if best["activation"] not in OF_TABLE_G4]
    for said in lines("claims_counts.csv"):
        match said["what"]:
            case "settings":
                yield from grids.check_settings_counted(said, case_study[said["of"]][0])
            case "preferred learning rate":
                yield grids.check_preferred_rate(said, main)
            case "wider differences":
                yield from aggregates.check_spread(said, tables["Table 1"])
            case "environments":
                environments = {name: tables[name].rows for name in ("Table 4", "Table F2", "Table F3")}
                yield from grids.check_environments(said, environments)
            case what:
                raise ValueError(f"claims_counts.csv: nothing checks '{what}'.")
    activations = {name: {row["activation"] for row in tables[name].rows} for name in OF_ALL_ACTIVATIONS}
    yield from grids.check_timesteps(lines("tableE1_schedule.csv"))
    yield from grids.check_rows(activations, "Table 2")
    yield from grids.check_labels(lines("labels.csv"))


def _bests(which: str = "supervised") -> list[dict[str, str]]:
    return lines_of(FOLDER / "published" / f"best_{which}.csv")


def _grids(which: str) -> dict[str, list[grids.Grid]]:
    """Activation → the grids that the paper prints for the case studies, or for the benchmarks."""
    found = {}
    for path in sorted((FOLDER / "activation").glob("*.yaml")):
        printed = (yaml.safe_load(path.read_text(encoding="utf-8")).get("grids") or {}).get(which, {}).get("paper")
        if printed:
            found[path.stem] = printed if isinstance(printed, list) else [printed]
    return found


def _place(table: str) -> tuple[int, str, int]:
    """A sort key: tables of the main text, appendix tables by letter and number, figures, claims about all tables."""
    found = re.fullmatch(r"(Table|Figure)s? ([A-Z]?)(\d+).*", table)
    if found is None:
        return 2, "", 0
    kind, letter, number = found.groups()
    return int(kind == "Figure"), letter, int(number)
