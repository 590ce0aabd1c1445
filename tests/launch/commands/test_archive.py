"""`launch export` and `launch import`: a store comes back bit for bit, and what is there is never changed."""

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from launch.__main__ import main as launch
from launch.work.worker import work
from plasticity_lab.records.archive import LIST, PARTS, export_store, import_archive
from plasticity_lab.records.record import read_record, write_record
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import after_looks, never, planned, trained

WORDS = ("activation=relu,tanh", "seed=0,1")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store with a sweep that has ended, and one of which a pack was stopped in its middle."""
    store = Store(tmp_path_factory.mktemp("archive") / "store")
    trained(store, *WORDS, "save_weights=final")
    plan = planned(store, "activation=elu", "checkpoint_minutes=0.0001")
    work(store, plan.sweep, "cpu", after_looks(3))
    return store


@pytest.fixture(scope="module")
def archive(whole, tmp_path_factory):
    path = tmp_path_factory.mktemp("archives") / "study.tar.gz"
    assert export_store(whole, path) == (4, 1)
    return path


def contents(store):
    """Name → bytes of all that is exported."""
    found = {}
    for part in PARTS:
        for path in sorted((store.root / part).rglob("*")):
            if path.is_file() and "submissions" not in path.parts:
                found[path.relative_to(store.root).as_posix()] = path.read_bytes()
    return found


def test_it_comes_back_bit_for_bit_and_the_unfinished_pack_goes_on(whole, archive, tmp_path, capsys):
    there = Store(tmp_path / "there")
    assert launch(["import", str(archive), "--store", str(there.root)]) == 0
    said = capsys.readouterr().out
    assert "4 runs, 2 plans, 1 unfinished pack" in said
    assert contents(there) == contents(whole)
    sweep = said.split("resume ")[1].split()[0]
    assert whole.plan(sweep).is_file()
    work(there, sweep, "cpu", never)
    alone = Store(tmp_path / "alone")
    plan = trained(alone, "activation=elu")
    (run,) = [run for pack in plan.packs for run in pack.runs]
    assert there.metrics(run).read_bytes() == alone.metrics(run).read_bytes(), "as if it had never been stopped"


def test_what_is_there_stays_and_a_second_time_brings_nothing(whole, archive, tmp_path, capsys):
    there = Store(tmp_path / "there")
    trained(there, "activation=relu", "seed=0")
    (run,) = [path.parent.name for path in there.runs_folder.rglob("record.json")]
    own = there.record(run).read_bytes()
    taken = import_archive(there, archive)
    assert (len(taken.runs), taken.other) == (3, [run]), "it was trained at another time"
    assert there.record(run).read_bytes() == own
    before = contents(there)
    again = import_archive(there, archive)
    assert (again.runs, again.sweeps, again.packs) == ([], [], [])
    assert len(again.known) == 3
    assert contents(there) == before


@pytest.mark.parametrize("cut", [0.3, 0.99])
def test_an_archive_that_breaks_off_or_was_changed_brings_nothing(archive, tmp_path, cut, capsys):
    content = archive.read_bytes()
    broken, there = tmp_path / "broken.tar.gz", tmp_path / "there"
    broken.write_bytes(content[: int(cut * len(content))])
    assert launch(["import", str(broken), "--store", str(there)]) == 1
    assert str(broken) in capsys.readouterr().err
    assert not (there / "runs").exists()


def rewritten(archive, path, change):
    """The archive with another content of some files: change(name, bytes) → bytes, or None for none."""
    with tarfile.open(archive) as old, tarfile.open(path, "w") as new:
        for member in old.getmembers():
            content = change(member.name, old.extractfile(member).read())
            if content is not None:
                member.size = len(content)
                new.addfile(member, io.BytesIO(content))
    return path


def other_number(name, content):
    return content.replace(b'"done"', b'"Done"') if name.endswith("record.json") else content


def without_metrics(name, content):
    return None if name.endswith("metrics.parquet") else content


def from_the_future(name, content):
    return json.dumps({**json.loads(content), "format": 99}).encode() if name == LIST else content


@pytest.mark.parametrize(
    ("change", "said"),
    [(other_number, "is not as it was written"), (without_metrics, "is not whole"), (from_the_future, "format 99")],
)
def test_what_is_not_as_it_was_written_is_refused(archive, tmp_path, change, said, capsys):
    path = rewritten(archive, tmp_path / "changed.tar", change)
    assert launch(["import", str(path), "--store", str(tmp_path / "there")]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "there" / "runs").exists()


def test_a_sweep_of_which_no_run_has_ended_goes_on_elsewhere(tmp_path, capsys):
    store = Store(tmp_path / "store")
    plan = planned(store, "activation=elu", "checkpoint_minutes=0.0001")
    work(store, plan.sweep, "cpu", after_looks(3))
    assert launch(["export", str(tmp_path / "begun.tar"), "--store", str(store.root)]) == 0
    assert "0 runs and 1 unfinished pack" in capsys.readouterr().out
    assert launch(["import", str(tmp_path / "begun.tar"), "--store", str(tmp_path / "there")]) == 0
    assert "0 runs, 1 plan, 1 unfinished pack" in capsys.readouterr().out


def test_no_file_lands_outside_of_the_store(tmp_path, capsys):
    path, content = tmp_path / "evil.tar", b"x"
    sums = {"runs/../../evil": {"bytes": 1, "sha256": hashlib.sha256(content).hexdigest()}}
    with tarfile.open(path, "w") as archive:
        for name, of in ((LIST, json.dumps({"format": 1, "files": sums}).encode()), ("runs/../../evil", content)):
            member = tarfile.TarInfo(name)
            member.size = len(of)
            archive.addfile(member, io.BytesIO(of))
    assert launch(["import", str(path), "--store", str(tmp_path / "there")]) == 1
    assert "no file of a store" in capsys.readouterr().err
    assert not (tmp_path.parent / "evil").exists()


def test_a_wrong_name_and_an_empty_store_are_sentences(whole, tmp_path, capsys):
    assert launch(["export", str(tmp_path / "study.zip"), "--store", str(whole.root)]) == 1
    assert "must end in .tar, .tar.gz, .tgz" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert launch(["export", str(tmp_path / "a.tar"), "--store", str(tmp_path / "empty")]) == 1
    assert "nothing to export" in capsys.readouterr().err
    assert launch(["import", str(tmp_path / "none.tar"), "--store", str(tmp_path / "there")]) == 1
    assert "No such file" in capsys.readouterr().err
    assert sorted(path.name for path in Path(tmp_path).iterdir()) == ["empty"]


def test_records_that_were_asked_for_again_are_other_records(whole, archive, tmp_path):
    there = Store(tmp_path / "there")
    import_archive(there, archive)
    run = next(iter(there.runs_folder.rglob("record.json"))).parent.name
    write_record(there, {**read_record(there, run), "asked_as": []})
    assert import_archive(there, archive).other == [run]
