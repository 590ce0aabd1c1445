import csv
import json

import pytest
import scipy.stats

from analysis.check_paper.command import findings
from analysis.check_paper.command import summary as summary_of_checks
from analysis.reported import Published
from analysis.reproduction.cells import Compared, compared, misses, ranks, share
from analysis.reproduction.command import printed_cells, text
from analysis.reproduction.summary import PAGES, headline, on_page, summary
from tests.docs.pages import ROOT

PUBLISHED = '{"activation.negative_slope": 0.6, "optimizer.lr": 0.001}'  # Leaky-ReLU on Permuted MNIST, Table E2


def cell(ours, sd, paper, paper_sd, name="relu", table="Table 2", **more):
    return Compared(table, "permuted_mnist", name, ours, sd, 1 if sd is None else 5, Published(paper, paper_sd), **more)


CELLS = [
    cell(70.0, 0.3, 70.4, 0.4, "relu"),  # 0.4 apart, pooled SD √((0.09 + 0.16) / 2) = 0.354
    cell(60.0, 0.3, 60.8, 0.4, "elu"),  # farther than two, nearer than one point
    cell(50.0, 2.0, 52.0, 2.0, "tanh"),  # within two SDs
    cell(40.0, 0.1, 45.0, 0.1, "selu"),
    cell(30.0, None, 28.5, 9.0, "celu"),
]


def test_nearness_and_welchs_answer_by_hand():
    assert [each.within_sds for each in CELLS] == [True, False, True, False, False]
    several, one = share(CELLS[:4]), share(CELLS[4:])
    assert (several.computed, several.within_sds, several.within) == (4, 2, (2, 3))
    assert (one.computed, one.within_sds, one.within) == (1, 0, (0, 1))
    assert [each.activation for each in misses(CELLS)] == ["selu", "celu"], "the worst first"
    # t = 2 / √(4/5 + 4/5) = 1.58 with 8 degrees of freedom, whose 97.5 % quantile is 2.31; 5 / √(0.02/5) is far beyond.
    assert CELLS[2].p == pytest.approx(2 * scipy.stats.t.sf(2 / 1.6**0.5, 8))
    assert (several.not_told_apart, one.not_told_apart) == (2, 0), "relu: t = 0.4 / √(0.25/5) = 1.79; elu: 3.58"


def test_a_cell_is_shown_equal_if_the_90_percent_interval_of_the_difference_is_within_a_point():
    """SE √(0.09/5 + 0.16/5) = 0.2236 with 7.42 degrees of freedom: 0.4 + 1.877 · 0.2236 = 0.82; 0.8 + 0.42 = 1.22."""
    assert [each.equal for each in CELLS] == [True, False, False, False, False]
    assert share(CELLS).equal == 1
    assert "1 are shown equal within a point" in headline(CELLS, sum(printed_cells().values()))


def test_ranks_are_spearmans_over_a_column_of_one_intervention():
    (found,) = ranks([*CELLS, cell(1.0, 0.1, 1.0, 0.1, table="Table E3")])
    expected = scipy.stats.spearmanr([70, 60, 50, 40, 30], [70.4, 60.8, 52, 45, 28.5]).statistic
    assert (found.table, found.n, found.correlation) == ("Table 2", 5, pytest.approx(expected))
    with_ewc = [cell(paper, 0.1, paper, 0.1, intervention="ewc") for paper in (1.0, 2.0, 3.0)]
    assert [(each.intervention, each.n) for each in ranks([*with_ewc, *CELLS])] == [("ewc", 3), ("none", 5)]
    assert "Permuted MNIST, +EWC" in text(with_ewc)


@pytest.fixture
def measured(tmp_path):
    """Writes a table of Leaky-ReLU on Permuted MNIST into a folder: lines of settings, mean, SD, n."""

    def write(name, *lines, schedule="full", intervention="none", table="table2", metric="taoa"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        shared = {"benchmark": "permuted_mnist", "activation": "leaky_relu", "schedule": schedule, "metric": metric}
        with (folder / f"{table}.csv").open("w", newline="") as file:
            fields = [*shared, "intervention", "settings", "mean", "sd", "n"]
            writer = csv.DictWriter(file, fields)
            writer.writeheader()
            for settings, mean, sd, n in lines:
                own = {"intervention": intervention, "settings": settings, "mean": mean, "sd": sd, "n": n}
                writer.writerow({**shared, **own})
        return tmp_path

    return write


def test_a_cell_is_computed_at_the_published_settings_and_all_else_was_tried(measured):
    other = PUBLISHED.replace("0.001", "0.0001")
    measured("permuted_mnist_as_published", (PUBLISHED, 84.5, 0.1, 5), (other, 80.0, "", 1), (PUBLISHED, "", "", 0))
    measured("short", (PUBLISHED, 10.0, 0.1, 5), schedule="demo")
    measured("l2", (PUBLISHED, 10.0, 0.1, 5), intervention="l2_init")
    (found,) = compared(measured("permuted_mnist_clean", (PUBLISHED, 83.0, 0.1, 5)))
    assert (found.table, found.mean, found.sd, found.n, found.paper.mean) == ("Table 2", 84.5, 0.1, 5, 84.14)
    assert [(tried.words, tried.mean) for tried in found.tried] == [
        ("optimizer.lr=0.0001", 80.0),
        ("permuted_mnist_clean", 83.0),
    ]


def test_an_intervention_is_compared_by_the_metric_its_column_reads_as_at_the_strength_of_e9(measured):
    """Leaky-ReLU with L2-Init, Tables E4 and E9: 91.60 at 1e-3 and strength 1e-3, which is a final accuracy."""
    best = {**json.loads(PUBLISHED), "intervention.strength": 0.001, "intervention.half": False}
    lines = [
        (json.dumps({**best, "intervention.half": half}), mean, 0.5, 3) for half, mean in ((False, 91), (True, 92))
    ]
    there = {"table": "tableE4", "intervention": "l2_init"}
    measured("permuted_mnist_as_published", *lines, **there, metric="final_accuracy_last_task")
    (found,) = compared(measured("online", (json.dumps(best), 87.0, 0.1, 3), **there))
    assert (found.table, found.intervention, found.mean, found.paper.mean) == ("Tables E4–E8", "l2_init", 91.0, 91.6)
    assert [(tried.words, tried.mean) for tried in found.tried] == [("intervention.half=True", 92.0)]


def test_nothing_measured_is_said_so(tmp_path):
    assert compared(tmp_path) == []
    assert text([]).startswith(f"0 of {sum(printed_cells().values())} printed cells are computed.")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: "-".join(page.parts[-2:]))
def test_the_summary_is_the_same_on_all_pages_and_follows_from_the_cells(page):
    cells, printed = compared(), sum(printed_cells().values())
    text = page.read_text()
    assert text == on_page(text, summary(cells, printed, PAGES[page])), (
        "`python -m analysis reproduction --pages` writes it"
    )


def test_the_summary_counts_every_cell_once_and_names_the_worst_miss():
    cells = compared()
    rows = [line.strip("|").split(" | ") for line in summary(cells, 610, "").splitlines() if line.startswith("| [")]
    assert sum(int(row[2]) for row in rows) == len(cells)
    assert sum(int(row[4]) for row in rows) == share(cells).within[1]
    worst = max(cells, key=lambda cell: abs(cell.apart))
    assert sum(f"{worst.mean:.2f} (paper {worst.paper.mean:.2f})" in row[5] for row in rows) == 1


def test_the_page_about_the_papers_numbers_quotes_the_command():
    assert summary_of_checks(findings()) in (ROOT / "docs/pages/reproduction/paper_checks.md").read_text()
