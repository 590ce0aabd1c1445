"""The paper's numbers beside runs of its own protocol, and beside others."""

import csv
import io

import pytest

from analysis.conf import as_published
from analysis.rows import rows
from analysis.tables import TABLES
from analysis.tables.build import build
from analysis.tables.caption import caption
from analysis.tables.declared.table2 import TABLE2
from analysis.tables.paper import of_another, paper_values
from analysis.tables.render import csv_text, latex, markdown, text


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
    (column,) = result.columns
    assert column.unlike == unlike
    (line,) = csv.DictReader(io.StringIO(csv_text([result.table.listing(result)])))
    for shown in (text([result.table.listing(result)]), markdown([result.table.listing(result)])):
        assert ("4.76 ± 1.01‡" in shown) == bool(unlike)
        assert ("+0.74" in shown) == (not unlike)
    assert (r"$^\ddagger$" in latex([result.table.listing(result)])) == bool(unlike)
    assert line["paper_mean"] == "4.76"
    assert (line["difference"] == "") == bool(unlike)
    if unlike:
        assert f"‡ CIFAR 5+1: the paper's numbers are {of_another(unlike)}" in "\n".join(caption(result.table, result))


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


def test_tables_of_interventions_have_one_for_each_metric(seeds):
    mnist = of_benchmark("permuted_mnist")
    records = [
        *seeds("relu", [0.5, 0.6], benchmark=mnist, summary={"final_accuracy_last_task": 0.9}),
        *seeds("relu", [0.7, 0.8], benchmark=mnist, intervention="l2_init", summary={"final_accuracy_last_task": 0.95}),
    ]
    online, final = build(TABLES["tableE4"], rows(records))
    assert [column.label for column in online.columns] == ["Vanilla", "+L2-Init"]
    by_name = {column.name: cell for (_, column), cell in final.cells.items()}
    assert by_name["l2_init"].mean == pytest.approx(95)
    assert (by_name["l2_init"].paper.mean, by_name["none"].paper) == (93.36, None)
    assert {column.name: cell.paper and cell.paper.mean for (_, column), cell in online.cells.items()} == {
        "none": 78.85,
        "l2_init": None,
    }
