import json

import numpy as np
import pyarrow as pa
import pytest
import torch

from plasticity_lab.errors import StoreError
from plasticity_lab.records.journal import METRICS
from plasticity_lab.records.provenance import provenance
from plasticity_lab.records.record import (
    CorruptRecord,
    add_asked_as,
    all_records,
    new_record,
    read_metrics,
    read_record,
    set_aside,
    write_metrics,
    write_record,
)
from plasticity_lab.records.weights import read_weights, write_weights
from plasticity_lab.run import Run

FIELDS = "format run status collapsed science targets asked_as provenance diagnostics summary error"


def run(number):
    return Run(f"{number:012x}", {"seed": number}, {}, [{"protocol": "as_published"}])


def test_a_record_is_read_as_it_was_written(store):
    record = new_record(run(1), "done", provenance(), summary={"taoa": 0.5, "gap": None})
    assert list(record) == FIELDS.split()
    write_record(store, record)
    assert read_record(store, run(1).id) == record
    assert json.loads((store.root / "runs" / "00" / run(1).id / "record.json").read_text()) == record
    assert read_record(store, run(2).id) is None


def test_a_status_has_the_fields_that_belong_to_it():
    assert new_record(run(1), "diverged", {}, diverged_at_step=3)["diverged_at_step"] == 3
    assert new_record(run(1), "failed", {}, error="out of memory")["error"] == "out of memory"
    for wrong in ({"error": "x"}, {"diverged_at_step": 1}):
        with pytest.raises(ValueError, match="done record"):
            new_record(run(1), "done", {}, **wrong)
    with pytest.raises(ValueError, match="must be one of done, diverged, failed"):
        new_record(run(1), "running", {})


GOOD = new_record(run(1), "done", {})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "not JSON"),
        (json.dumps(GOOD)[:-20], "not JSON"),
        ("\udcff", "not JSON"),
        ("[]", "of no format"),
        (json.dumps(GOOD | {"format": 99}), "of no format"),
        (json.dumps({name: value for name, value in GOOD.items() if name != "science"}), "lacks science"),
        (json.dumps(GOOD | {"run": "another"}), "another run"),
        (json.dumps(GOOD | {"status": "running"}), "'running'"),
    ],
)
def test_a_corrupt_record_is_named_and_set_aside(store, content, reason):
    write_metrics(store, GOOD["run"], metrics(0.5))
    path = store.record(GOOD["run"])
    path.write_text(content, errors="surrogateescape")
    with pytest.raises(CorruptRecord, match=reason) as caught:
        read_record(store, GOOD["run"])
    assert isinstance(caught.value, StoreError)
    assert str(path) in str(caught.value)
    assert caught.value.run == GOOD["run"]

    assert set_aside(store, GOOD["run"]) == path.with_name("record.json.corrupt-1")
    assert read_record(store, GOOD["run"]) is None
    assert read_metrics(store, GOOD["run"]) is None
    assert path.with_name("record.json.corrupt-1").read_text(errors="surrogateescape") == content

    write_record(store, GOOD)
    assert read_record(store, GOOD["run"]) == GOOD
    assert set_aside(store, GOOD["run"]).name == "record.json.corrupt-2"
    assert len(list(path.parent.iterdir())) == 3  # nothing was overwritten


def test_all_records_are_found_and_corrupt_ones_reported(store):
    numbers = [0xABC << 36, 3, 2]
    for number in numbers:
        write_record(store, new_record(run(number), "done", {}))
    store.record(run(3).id).write_text("{")
    write_metrics(store, run(4).id, metrics(0.1))  # killed before its record was written
    good, corrupt = all_records(store)
    assert [record["science"]["seed"] for record in good] == [2, 0xABC << 36]
    assert [error.run for error in corrupt] == [run(3).id]


def test_a_finished_run_learns_under_which_names_it_was_asked_for(store):
    names = [{"protocol": "as_published"}, {"protocol": "as_published", "experiment": "table_2"}]
    add_asked_as(store, run(1).id, names)
    assert read_record(store, run(1).id) is None
    write_record(store, GOOD)
    add_asked_as(store, run(1).id, names)
    add_asked_as(store, run(1).id, names)
    assert read_record(store, run(1).id) == GOOD | {"asked_as": names}


def test_metrics_come_back_bit_for_bit_and_damage_is_named(store):
    table = metrics(0.1 + 0.2)
    write_metrics(store, "abc", table)
    assert read_metrics(store, "abc").equals(table)
    assert read_metrics(store, "abd") is None
    content = store.metrics("abc").read_bytes()
    for damaged in (b"", content[:-30], content[:4] + bytes(len(content) - 4)):
        store.metrics("abc").write_bytes(damaged)
        with pytest.raises(CorruptRecord, match=r"metrics\.parquet is not a complete Parquet file"):
            read_metrics(store, "abc")


def test_weights_of_one_run_do_not_drag_the_pack_along(store):
    pack = torch.randn(100, 1000, generator=torch.Generator().manual_seed(0))
    write_weights(store, "abc", {"w": pack[3]})
    assert torch.equal(read_weights(store, "abc")["w"], pack[3])
    assert store.weights("abc").stat().st_size < 10_000
    assert read_weights(store, "abd") is None


def metrics(aoa):
    row = {"kind": "task", "task": 0, "epoch": 0, "step": 9, "aoa": np.float64(aoa), "hard": True}
    return pa.Table.from_pylist([row], schema=METRICS)
