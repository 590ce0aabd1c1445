"""Tables E4 to E8: beside each intervention what a network that begins anew reaches, and how often units were reset."""

import csv
import io

import pytest

from analysis.rows import rows
from analysis.tables import TABLES
from analysis.tables.build import build
from analysis.tables.grid import grid
from analysis.tables.render import csv_text, text
from tests.analysis.test_paper import of_benchmark

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


def test_each_cell_is_compared_with_the_same_activation_begun_anew(shown):
    online, final = shown
    assert above(online) == pytest.approx({("relu", "none"): -10, ("relu", "ewc"): 10, ("relu", "snr"): -25})
    assert above(final) == pytest.approx({("relu", "none"): -10, ("relu", "ewc"): 15, ("relu", "snr"): 10})
    words = text([online.table.listing(online)])
    assert "-10.00" in words
    assert "Above ref.: the mean less that of intervention=fresh_each_task in the same row" in words
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
