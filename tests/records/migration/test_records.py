"""Records of format 1: refused by all who read, and brought to today's by the migration."""

import json

import pytest

from launch.packs.todo import outstanding
from plasticity_lab.errors import StoreError
from plasticity_lab.records.migration.changed import Changed
from plasticity_lab.records.migration.records import migrate_records
from plasticity_lab.records.old_format import OldFormat
from plasticity_lab.records.record import CorruptRecord, outcome_of, read_record, records_of
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import run_of
from tests.helpers.old_files import record_in_format_1
from tests.helpers.sweeps import runs_of, trained


@pytest.fixture
def run(store):
    trained(store, "save_weights=final")
    return runs_of()[0]


def migrated(store, dry_run=False):
    changed = Changed()
    migrate_records(store, changed, dry_run)
    return changed


def test_it_has_again_what_it_lacked_and_says_that_its_classes_are_assumed(store, run):
    record = record_in_format_1(store, run.id)
    old = store.record(run.id).read_bytes()
    for read in (lambda: read_record(store, run.id), lambda: list(records_of(store, [])),
                 lambda: outcome_of(store, run.id)):  # fmt: skip
        with pytest.raises(OldFormat, match=r"record\.json .*python -m launch migrate --store"):
            read()
    assert migrated(store, dry_run=True).old == {"record": 1}
    assert store.record(run.id).read_bytes() == old
    assert migrated(store).old == {"record": 1}
    found = read_record(store, run.id)
    assert found == record | {"targets_assumed": True}
    assert (set(found["files"]), run_of(found)[1]) == ({"metrics.parquet", "weights.pt"}, True)
    assert outstanding(store, [run], False, 2).finished == [run.id]
    again = migrated(store)
    assert (again.old, again.today) == ({}, {"record": 1})


def test_an_option_that_conf_has_no_longer_is_missed_only_by_who_needs_its_class(store, run):
    record = record_in_format_1(store, run.id)
    science = record["science"] | {"activation": {"name": "forgotten"}}
    store.record(run.id).write_text(json.dumps(json.loads(store.record(run.id).read_text()) | {"science": science}))
    assert migrated(store).old == {"record": 1}
    with pytest.raises(StoreError, match="activation=forgotten"):
        run_of(read_record(store, run.id))


@pytest.mark.parametrize("file", ["metrics.parquet", "weights.pt"])
def test_a_file_that_is_not_whole_is_not_declared_to_be(store, run, file):
    record_in_format_1(store, run.id)
    path = store.run_folder(run.id) / file
    path.write_bytes(path.read_bytes()[:-30])
    assert migrated(store).old == {"record": 1}
    assert not read_record(store, run.id).get("files")
    with pytest.raises(CorruptRecord, match=file):
        outcome_of(store, run.id)


@pytest.mark.parametrize("content", ["{", '{"format": 1}', '{"format": 99}', "[]"])
def test_what_cannot_be_read_is_named_and_left_as_it_is(store, run, content):
    store.record(run.id).write_text(content)
    (fault,) = migrated(store).unreadable
    assert str(store.record(run.id)) in fault
    assert store.record(run.id).read_text() == content
    with pytest.raises(CorruptRecord):
        read_record(store, run.id)


def test_the_sentence_names_a_folder_as_a_shell_takes_it(tmp_path):
    store = Store(tmp_path / "my store")
    assert f"--store '{store.root}'`" in str(OldFormat(store, store.record("0" * 12), "is a record of format 1"))
