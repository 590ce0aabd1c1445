"""The paper's numbers beside runs of its own protocol, and beside others."""

import csv
import io

import pytest

from analysis.conf import as_published
from analysis.reported import Key, Published, published
from analysis.rows import rows
from analysis.tables import TABLES
from analysis.tables.build import build
from analysis.tables.caption import caption
from analysis.tables.declared.means import TABLE2, TABLE_E3
from analysis.tables.grid import grid
from analysis.tables.paper import of_another, paper_values
from analysis.tables.render import csv_text, latex, markdown, text
from tests.helpers.built_tables import built, by_label, column


def of_benchmark(name, **differing):
    """The settings of a benchmark as published, except for some."""
    prefix = "benchmark."
    own = {key.removeprefix(prefix): value for key, value in as_published(name).items() if key.startswith(prefix)}
    return {"name": name, **own, **differing}


@pytest.mark.parametrize(
    ("differing", "unlike"),
    [
        ({}, ()),
        ({"order": "shuffle"}, ("order=shuffle, there class_blocks",)),
        ({"tasks": 4, "order": "shuffle"}, ("order=shuffle, there class_blocks", "tasks=4, there 30")),
        ({"subset": "drawn"}, ("subset=drawn, there first",)),
    ],
)
def test_runs_that_are_not_as_published_mark_the_papers_number_and_have_no_difference(seeds, differing, unlike):
    cnn = {"network": {"name": "cnn"}}
    records = seeds("relu", [0.05, 0.06], benchmark=of_benchmark("cifar51", **differing), science=cnn)
    (result,) = build(TABLE2, rows(records))
    (heading,) = result.columns
    assert heading.unlike == unlike
    (line,) = csv.DictReader(io.StringIO(csv_text([result.table.listing(result)])))
    for shown in (text([result.table.listing(result)]), markdown([result.table.listing(result)])):
        assert ("4.76 ± 1.01‡" in shown) == bool(unlike)
        assert ("+0.74" in shown) == (not unlike)
    assert (r"$^\ddagger$" in latex([result.table.listing(result)])) == bool(unlike)
    assert line["paper_mean"] == "4.76"
    assert (line["difference"] == "") == bool(unlike)
    agreement = [line for line in caption(result.table, result) if line.startswith("Agreement with the paper")]
    assert len(agreement) == (not unlike)
    if unlike:
        assert f"‡ CIFAR 5+1: the paper's numbers are {of_another(unlike)}" in "\n".join(caption(result.table, result))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        # The paper has 4.76 ± 1.01: a standard error of 0.45, so a 90 % interval of equal means ends at ±0.96.
        ([0.0475, 0.0476, 0.0477], "1 of 1 shown equal within 1 percentage point"),
        ([0.05, 0.07, 0.03], "0 of 1 shown equal within 1 percentage point"),
        ([0.0475], None),
    ],
)
def test_the_caption_says_how_many_cells_are_shown_equal_and_how_many_differ(seeds, values, words):
    records = seeds("relu", values, benchmark=of_benchmark("cifar51"), science={"network": {"name": "cnn"}})
    (result,) = build(TABLE2, rows(records))
    said = [line for line in caption(result.table, result) if line.startswith("Agreement with the paper")]
    assert len(said) == (words is not None)
    assert all(words in line and ", 0 significantly different" in line for line in said)


def test_another_network_or_optimizer_is_not_as_published(seeds):
    (wide,) = seeds(
        "relu", [0.5], benchmark=of_benchmark("permuted_mnist"), science={"network": {"name": "mlp", "width": 9}}
    )
    (sgd,) = seeds(
        "tanh", [0.5], benchmark=of_benchmark("permuted_mnist"), science={"optimizer": {"name": "sgd", "lr": 1}}
    )
    (result,) = build(TABLE2, rows([wide, sgd]))
    assert sorted(words for column in result.columns for words in column.unlike) == [
        "network.width=9, there 100",
        "optimizer.name=sgd, there adam",
    ]


def test_the_values_of_interventions_stand_beside_the_metric_they_read_as():
    values = paper_values(TABLES["tableE4"])
    assert values["taoa"].keys() == {(name, "none") for name, _ in values["taoa"]}
    assert values["final_accuracy_last_task"]["relu", "l2_init"].mean == 93.36
    assert {column for _, column in values["final_accuracy_last_task"]} == {"l2_init", "snr", "ewc"}
    assert paper_values(TABLES["table1"])["acc"]["rrelu", "split_cifar100"].mean == 32.95


def test_the_papers_values_are_those_of_its_tables():
    values = published(TABLE2.reported)
    assert len(values) == 19 * 5
    assert values[Key("permuted_mnist", "relu")] == Published(78.85, 0.06)
    assert values[Key("continual_imagenet", "rselu")].mean == 79.87
    # Table 2: Rand. Smooth-Leaky leads everywhere but on CIFAR 5+1, where Deep Fourier does.
    for benchmark in ("permuted_mnist", "random_label_mnist", "random_label_cifar", "continual_imagenet"):
        there = {key.activation: value.mean for key, value in values.items() if key.benchmark == benchmark}
        assert max(there, key=there.get) == "rand_smooth_leaky"


def test_the_papers_value_stands_beside_its_benchmark_and_never_beside_the_embedded_one(record, benchmarks):
    cells = by_label(built([record(), record(benchmark=benchmarks["mnist"])]))
    assert cells["ReLU", "Permuted MNIST"].paper.mean == 78.85
    assert cells["ReLU", "Permuted digits"].paper is None


def test_the_papers_accuracy_stands_beside_no_other_metric_and_no_intervention(record, benchmarks):
    mnist = benchmarks["mnist"]
    assert column(built([record(benchmark=mnist)], metric="gap"), "Permuted MNIST")["ReLU"].paper is None
    with_l2 = built([record(benchmark=mnist, intervention="l2_init")])
    assert column(with_l2, "Permuted MNIST")["ReLU"].paper is None


def test_table_e3_shows_the_gap_beside_the_papers_gap(record, benchmarks):
    (result,) = build(TABLE_E3, rows([record(benchmark=benchmarks["mnist"])]))
    (cell,) = result.cells.values()
    assert cell.mean == pytest.approx(1.0)
    assert (cell.paper.mean, cell.paper.sd) == (9.37, 0.08)
    assert cell.beside == {"taoa": 0.5}


MNIST = of_benchmark("permuted_mnist")
ORDER = ["none", "l2_init", "snr", "ewc", "fresh_each_task"]


@pytest.fixture
def shown(seeds):
    """ReLU with each intervention, two seeds; Tanh begins anew alone."""
    records = [
        *seeds("relu", [0.5, 0.6], benchmark=MNIST, summary={"final_accuracy_last_task": 0.70}),
        *seeds("relu", [0.7, 0.8], benchmark=MNIST, intervention="ewc", summary={"final_accuracy_last_task": 0.95}),
        *seeds(
            "relu", [0.4, 0.4], benchmark=MNIST, intervention="snr",
            summary={"final_accuracy_last_task": 0.9, "resets": 12},
        ),
        *seeds(
            "relu", [0.6, 0.7], benchmark=MNIST, intervention="fresh_each_task",
            summary={"final_accuracy_last_task": 0.8},
        ),
        *seeds(
            "tanh", [0.3], benchmark=MNIST, intervention="fresh_each_task",
            summary={"final_accuracy_last_task": 0.5},
        ),
    ]  # fmt: skip
    return build(TABLES["tableE4"], rows(records))


def above(result):
    return {(row.name, column.name): value for (row, column), value in result.above.items()}


def test_each_cell_is_compared_with_the_same_activation_begun_anew_and_with_the_paper_by_its_metric(shown):
    online, final = shown
    papers = [
        {
            column.name: cell.paper and cell.paper.mean
            for (row, column), cell in each.cells.items()
            if row.name == "relu"
        }
        for each in shown
    ]
    assert papers[0] == {"none": 78.85, "snr": None, "ewc": None, "fresh_each_task": None}
    assert (papers[1]["none"], papers[1]["snr"]) == (
        None,
        paper_values(online.table)[final.metric.name]["relu", "snr"].mean,
    )
    assert above(online) == pytest.approx({("relu", "none"): -10, ("relu", "ewc"): 10, ("relu", "snr"): -25})
    assert above(final) == pytest.approx({("relu", "none"): -10, ("relu", "ewc"): 15, ("relu", "snr"): 10})
    words = text([online.table.listing(online)])
    assert "-10.00" in words
    assert "Above ref.: the mean minus the mean for intervention=fresh_each_task in the same row" in words
    lines = {
        (line["activation"], line["intervention"]): line
        for line in csv.DictReader(io.StringIO(csv_text([online.table.listing(online)])))
    }
    assert float(lines["relu", "ewc"]["above_fresh_each_task"]) == pytest.approx(10)
    assert lines["relu", "fresh_each_task"]["above_fresh_each_task"] == ""


def test_columns_come_in_the_tables_order_and_counts_of_resets_stand_where_there_are_any(shown):
    for result in shown:
        assert [column.name for column in result.columns] == [name for name in ORDER if name != "l2_init"]
        listing = grid(result.table, result)
        header = listing.header
        assert header.count("above ref.") == 3
        of_snr = header[header.index("+SNR") : header.index("+EWC")]
        assert of_snr.count("resets") == header.count("resets") == 1
        assert all(len(line) == len(header) for line in listing.body)
