import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch

from plasticity_lab.errors import StoreError
from plasticity_lab.records.classifier import CLASSIFIER, declared_in
from plasticity_lab.records.provenance import provenance
from plasticity_lab.records.record import (
    add_asked_as,
    all_records,
    new_record,
    read_metrics,
    read_record,
    set_aside,
    write_metrics,
    write_record,
)
from plasticity_lab.records.record_facts import CorruptRecord, check_files, keeps_statistics, keeps_weights
from plasticity_lab.records.weights import read_statistics, read_weights, write_statistics, write_weights
from plasticity_lab.run import Run
from tests.helpers.made_up_agent import PLAYER

FIELDS = "format run status collapsed science targets asked_as provenance diagnostics summary error files"


def run(number):
    return Run(f"{number:012x}", {"seed": number}, {}, [{"protocol": "as_published"}])


def test_a_record_is_read_as_it_was_written(store):
    record = new_record(run(1), "done", provenance(), summary={"taoa": 0.5, "gap": None})
    assert list(record) == [*FIELDS.split(), "digest"]
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
    with pytest.raises(ValueError, match="done, diverged, failed"):
        new_record(run(1), "running", {})


def test_a_record_says_what_its_numbers_are(store):
    record = new_record(run(1), "done", {}, collapsed=False, flags={"stuck": True}, measures=PLAYER.as_json())
    assert list(record) == [*FIELDS.split(), "flags", "measures", "digest"]
    write_record(store, record)
    read = read_record(store, run(1).id)
    assert (read, read["flags"]) == (record, {"stuck": True})
    found = declared_in(read)
    assert found == PLAYER.declared
    assert [column.name for column in found.columns_of("episode")] == ["return", "length"]
    assert (found.summaries["regret"].better, found.summaries["seconds"].unit, found.marks) == ("less", "s", ("body",))


def test_a_record_of_before_that_says_nothing_is_a_classifier_s():
    assert declared_in(new_record(run(1), "done", {})) == CLASSIFIER.declared
    assert declared_in(new_record(run(1), "done", {}, measures=CLASSIFIER.as_json())) == CLASSIFIER.declared


GOOD = new_record(run(1), "done", {})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is empty"),
        (json.dumps(GOOD)[:-20], "not JSON"),
        ("\udcff", "not JSON"),
        ("[]", "is not a mapping"),
        ("[" * 100_000, "not JSON"),
        (json.dumps(GOOD | {"provenance": []}), "something else than it should under provenance"),
        (json.dumps(GOOD | {"status": "diverged"}), "lacks the step"),
        (json.dumps(GOOD | {"format": 0}), "of no format"),
        (json.dumps(GOOD | {"measures": {"columns": [3]}}), "declares its numbers"),
        (json.dumps(GOOD | {"measures": PLAYER.as_json() | {"headline": "gone"}}), "declares its numbers"),
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
        with pytest.raises(CorruptRecord, match=r"metrics\.parquet"):
            read_metrics(store, "abc")


def left(store, name="abc"):
    """A finished run with metrics, weights and statistics → its record."""
    files = {
        "metrics.parquet": write_metrics(store, name, metrics(0.5)),
        "weights.pt": write_weights(store, name, {"w": torch.arange(3000.0)}),
        "statistics.pt": write_statistics(store, name, {"mean": torch.arange(300.0)}),
    }
    record = new_record(replace(run(1), id=name), "done", {}, files=files)
    write_record(store, record)
    return record


READ = {"metrics.parquet": read_metrics, "weights.pt": read_weights, "statistics.pt": read_statistics}
FILES = pytest.mark.parametrize("file", READ)
LISTED = pytest.mark.parametrize("listed", [True, False], ids=["files listed", "an old record"])


@FILES
@LISTED
@pytest.mark.parametrize("damage", ["missing", "a folder", "empty", "cut off", "of zeros", "of something else"])
def test_a_finished_run_without_its_files_is_noticed(store, file, listed, damage):
    record = left(store)
    record = record if listed else {name: value for name, value in record.items() if name != "files"}
    check_files(store, record)
    path = store.run_folder("abc") / file
    content = path.read_bytes()
    path.unlink()
    if damage == "a folder":
        path.mkdir()
    elif damage != "missing":
        cut, zeros = content[:-20], bytes(len(content))
        path.write_bytes({"empty": b"", "cut off": cut, "of zeros": zeros, "of something else": b"x" * 9}[damage])
    if not listed and (file == "statistics.pt" or (damage == "missing" and file == "weights.pt")):
        check_files(store, record)  # such a record does not say that there were any
        assert keeps_weights(store, record) == (file != "weights.pt")
        assert not keeps_statistics(record)
        return
    with pytest.raises(CorruptRecord, match=file) as caught:
        check_files(store, record)
    assert (caught.value.path, caught.value.run) == (path, "abc")
    assert set_aside(store, "abc").name == "record.json.corrupt-1"


def test_runs_that_kept_no_weights_or_failed_lack_nothing(store):
    done = new_record(run(1), "done", {}, files={"metrics.parquet": write_metrics(store, run(1).id, metrics(0.5))})
    check_files(store, done)
    assert not keeps_weights(store, done)
    check_files(store, new_record(run(2), "failed", {}, error="out of memory"))


@FILES
def test_flipped_bits_never_become_numbers(store, file):
    left(store)
    path, read = store.run_folder("abc") / file, READ[file]
    content = path.read_bytes()
    for at in range(0, len(content), 101):
        path.write_bytes(content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :])
        with pytest.raises(CorruptRecord, match=f"{file}.*rerun=true"):
            read(store, "abc")


@FILES
def test_a_file_that_a_record_lists_and_that_is_gone_is_damage_and_not_nothing(store, file):
    left(store)
    (store.run_folder("abc") / file).unlink()
    if file != "metrics.parquet":
        with pytest.raises(CorruptRecord, match=f"{file}.*missing.*rerun=true"):
            READ[file](store, "abc")
    write_record(store, new_record(run(1), "done", {}, files={}))
    assert READ[file](store, run(1).id) is None


def test_a_file_of_tensors_that_holds_something_else_is_refused(store):
    write_weights(store, "abc", {"w": torch.arange(3.0)})
    torch.save({"w": {"nested": torch.arange(3.0)}}, store.weights("abc"))
    with pytest.raises(CorruptRecord, match=r"weights\.pt"):
        read_weights(store, "abc")


def test_weights_of_one_run_do_not_drag_the_pack_along(store):
    pack = torch.randn(100, 1000, generator=torch.Generator().manual_seed(0))
    write_weights(store, "abc", {"w": pack[3]})
    assert torch.equal(read_weights(store, "abc")["w"], pack[3])
    assert store.weights("abc").stat().st_size < 10_000
    assert read_weights(store, "abd") is None


def metrics(aoa):
    row = {"kind": "task", "task": 0, "epoch": 0, "step": 9, "aoa": np.float64(aoa), "hard": True}
    return pa.Table.from_pylist([row], schema=CLASSIFIER.schema)


@pytest.mark.parametrize("damage", [lambda content: b"", lambda content: content[:-30], lambda content: b"nonsense"])
def test_weights_that_no_record_knows_of_are_read_whole_or_refused(store, damage):
    path = store.weights("abc")
    write_weights(store, "abc", {"w": torch.arange(3000.0)})
    content = path.read_bytes()
    flipped = content[:4000] + bytes([content[4000] ^ 1]) + content[4001:]
    for damaged in (damage(content), flipped):
        path.write_bytes(damaged)
        with pytest.raises(CorruptRecord, match=r"weights\.pt"):
            read_weights(store, "abc")
