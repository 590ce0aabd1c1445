"""The index of finished runs: what it says is what the records say, whatever happened to either."""

import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from plasticity_lab.records import index_files, run_index
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.record import (
    add_asked_as,
    new_record,
    outcome_of,
    read_record,
    set_aside,
    write_metrics,
    write_record,
)
from plasticity_lab.records.record_facts import CorruptRecord
from plasticity_lab.records.run_index import RunIndex
from plasticity_lab.records.weights import write_statistics, write_weights
from plasticity_lab.run import Run

NAMES = {"protocol": "as_published"}


def run(number):
    return Run(f"{number:012x}", {"seed": number}, {"agent": "an.Agent"}, [NAMES])


def record(store, number, status="done", **more):
    files = {} if status == "failed" else {"metrics.parquet": write_metrics(store, run(number).id, EMPTY)}
    source = {"pack": "feedfeedfeed", "width": 3, "failures": 2}
    write_record(store, new_record(run(number), status, source, files=files, **more))
    return run(number).id


EMPTY = CLASSIFIER.schema.empty_table()


@pytest.fixture
def runs(store):
    """Three runs that ended in each of the ways, and one that has no record."""
    done = record(store, 1, collapsed=True)
    return [done, record(store, 2, "diverged", diverged_at_step=7), record(store, 3, "failed", error="x"), run(4).id]


@pytest.fixture
def records_read(monkeypatch):
    """The runs whose records were read, since the index did not tell."""
    read = []
    monkeypatch.setattr(run_index, "outcome_of", lambda store, run: read.append(run) or outcome_of(store, run))
    return read


def told(store, runs):
    """What an index made now tells of runs."""
    index = RunIndex(store)
    found = {name: index.of(name) for name in runs}
    index.save()
    return found


def true(store, runs):
    return {name: outcome_of(store, name) for name in runs}


def rewritten(monkeypatch, store, runs):
    """Puts the index into one file, as is done for a thousand runs."""
    monkeypatch.setattr(run_index, "MANY_FILES", 1)
    told(store, runs)
    return store.index_folder / "runs"


def test_it_tells_what_records_say_without_reading_them(store, runs, records_read):
    done, diverged, failed, missing = told(store, runs).values()
    assert not records_read
    assert (done.status, done.flags, done.keeps_weights, done.pack, done.width) == (
        "done", ["collapsed"], False, "feedfeedfeed", 3,
    )  # fmt: skip
    assert (done.classes, done.names) == (index_files.digest(run(1).targets), [index_files.digest(NAMES)])
    assert (diverged.status, diverged.diverged_at_step) == ("diverged", 7)
    assert (failed.status, failed.failures, missing) == ("failed", 2, None)
    assert told(store, runs) == true(store, runs)


def test_it_is_made_of_records_where_there_is_none_and_then_kept(store, runs, records_read, monkeypatch):
    shutil.rmtree(store.index_folder)
    assert told(store, runs) == true(store, runs)
    assert records_read == runs[:3]
    assert not store.index_folder.exists(), "three runs are not worth it"
    monkeypatch.setattr(run_index, "MANY_LINES", 3)
    told(store, runs)
    records_read.clear()
    assert told(store, runs) == true(store, runs)
    assert not records_read


CHANGES = {
    "trained again": lambda store, name: record(store, 1, "diverged", diverged_at_step=9),
    "asked for again": lambda store, name: add_asked_as(store, name, [{"protocol": "clean"}]),
    "set aside": set_aside,
    "edited in place": lambda store, name: store.record(name).write_text(
        store.record(name).read_text().replace('"collapsed": true', '"collapsed": false')
    ),
    "deleted": lambda store, name: shutil.rmtree(store.run_folder(name)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("in_one_file", [False, True])
def test_a_run_that_changed_is_told_as_it_is_now(store, runs, change, in_one_file, monkeypatch):
    if in_one_file:
        rewritten(monkeypatch, store, runs)
    before = told(store, runs)
    change(store, runs[0])
    assert told(store, runs) == true(store, runs)
    assert told(store, runs) != before
    assert told(store, runs[1:]) == {name: before[name] for name in runs[1:]}


@pytest.mark.parametrize("file", ["record", "metrics"])
def test_damage_is_named_that_came_after_the_line_was_written(store, runs, file):
    told(store, runs)
    path = getattr(store, file)(runs[0])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(CorruptRecord, match=path.name):
        RunIndex(store).of(runs[0])


@pytest.mark.parametrize("file", ["weights", "statistics"])
def test_weights_and_statistics_that_were_kept_are_looked_at_too(store, records_read, file):
    name = run(1).id
    files = {
        "metrics.parquet": write_metrics(store, name, EMPTY),
        "weights.pt": write_weights(store, name, {"w": torch.arange(3000.0)}),
        "statistics.pt": write_statistics(store, name, {"mean": torch.arange(3.0)}),
    }
    write_record(store, new_record(run(1), "done", {}, files=files))
    assert told(store, [name])[name].keeps_weights
    assert not records_read
    getattr(store, file)(name).unlink()
    with pytest.raises(CorruptRecord, match=rf"{file}\.pt is missing"):
        RunIndex(store).of(name)


DAMAGE = {
    "a flipped bit": lambda path: path.write_bytes(path.read_bytes().replace(b'"done"', b'"dond"')),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "something else": lambda path: path.write_bytes(b"\xff\x00 \n\n[]\n" * 50),
    "empty": lambda path: path.write_bytes(b""),
    "lines of another version": lambda path: path.write_bytes(b"000000000001 00000000 [2]\n"),
    "a folder in its place": lambda path: (path.unlink(), path.mkdir()),
    "no folder": lambda path: shutil.rmtree(path.parent),
    "a file for a folder": lambda path: (shutil.rmtree(path.parent), path.parent.write_text("")),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_index_is_passed_over_and_stops_nobody(store, runs, damage, monkeypatch):
    damage(rewritten(monkeypatch, store, runs))
    monkeypatch.setattr(run_index, "MANY_LINES", 1)
    assert told(store, runs) == true(store, runs)
    record(store, 5)
    assert told(store, [*runs, run(5).id]) == true(store, [*runs, run(5).id])
    assert read_record(store, run(5).id)["status"] == "done"


def test_many_write_at_once_and_none_is_told_anything_wrong(store, monkeypatch):
    monkeypatch.setattr(run_index, "MANY_LINES", 1)
    monkeypatch.setattr(run_index, "MANY_FILES", 1)
    names = [run(number).id for number in range(24)]

    def busy(worker):
        for number in range(worker, 24, 4):
            record(store, number)
            found = told(store, names)
            assert {each.status for each in found.values() if each is not None} == {"done"}

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(busy, range(4)))
    assert told(store, names) == true(store, names)


def test_a_record_that_does_not_list_its_files_is_read_each_time(store, records_read):
    name = record(store, 1)
    old = {key: value for key, value in read_record(store, name).items() if key != "files"}
    write_record(store, old)
    assert told(store, [name]) == true(store, [name])
    assert records_read == [name]


def test_two_processes_add_lines_of_their_own(store, runs, records_read, monkeypatch):
    monkeypatch.setattr(index_files.os, "getpid", lambda: -1)
    record(store, 5)
    files = [path.name for path in store.index_folder.iterdir()]
    assert len(files) == 2, files
    assert told(store, [*runs, run(5).id]) == true(store, [*runs, run(5).id])
    assert not records_read
