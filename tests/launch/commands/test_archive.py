"""`launch export` and `launch import`: a store comes back bit for bit, and what is there is never changed."""

import hashlib
import io
import json
import shutil
import tarfile

import pytest

from launch.__main__ import main as launch
from plasticity_lab.records.archive import LIST, export_store
from plasticity_lab.records.archive_import import import_archive
from plasticity_lab.records.store import Store
from plasticity_lab.stored_files import LAYOUT
from tests.helpers.leases import leases
from tests.helpers.sweeps import after_looks, never, planned, trained, work

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
    for part in LAYOUT:
        for path in sorted((store.root / part).rglob("*")):
            if path.is_file() and "submissions" not in path.parts:
                found[path.relative_to(store.root).as_posix()] = path.read_bytes()
    return found


@pytest.mark.sample(1)
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


def test_a_pack_that_is_being_trained_stays_behind(whole, archive, tmp_path):
    store = Store(shutil.copytree(whole.root, tmp_path / "store"))
    (pack,) = {path.name for path in (store.root / "packs").iterdir()}
    for path, held, there in ((archive, False, True), (tmp_path / "held.tar", True, False)):
        if held:
            assert leases(store).claim([pack]) is not None
            assert launch(["export", str(path), "--store", str(store.root)]) == 0
        with tarfile.open(path) as opened:
            names = opened.getnames()
        assert any(name.startswith(f"packs/{pack}/") for name in names) == there
        assert len([name for name in names if name.endswith("/record.json")]) == 4


@pytest.mark.sample(1)
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


def rewritten(archive, path, change):
    """The archive with another content of some files: change(name, bytes) → bytes, or None for none."""
    with tarfile.open(archive) as old, tarfile.open(path, "w") as new:
        for member in old.getmembers():
            content = change(member.name, old.extractfile(member).read())
            if content is not None:
                member.size = len(content)
                new.addfile(member, io.BytesIO(content))
    return path


CHANGES = {
    "is not as it was written": ("record.json", lambda content: content.replace(b'"done"', b'"Done"')),
    "is not whole": ("metrics.parquet", lambda content: None),
    "format 99": (LIST, lambda content: json.dumps({**json.loads(content), "format": 99}).encode()),
}


@pytest.mark.parametrize("said", CHANGES)
def test_what_is_not_as_it_was_written_is_refused(archive, tmp_path, said, capsys):
    ending, change = CHANGES[said]
    path = rewritten(
        archive, tmp_path / "changed.tar", lambda name, content: change(content) if name.endswith(ending) else content
    )
    assert launch(["import", str(path), "--store", str(tmp_path / "there")]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "there" / "runs").exists()


NEVER_EXPORTED = (
    "runs/../../evil",
    "sitecustomize.py",
    "usercustomize.py",
    "evil.pth",
    "launch.py",
    "launch/__init__.py",
    "matplotlibrc",
    "./report.html",
    "report.html/evil.py",
    "conf/activation/evil.yaml",
    "hydra_plugins/evil.py",
    "runs/evil.py",
    "runs/__init__.py",
    "runs/__pycache__/evil.cpython-311.pyc",
    "runs/ab/abababababab/evil.py",
    "runs/ab/abababababab/record.json/evil.py",
    "runs/cd/abababababab/record.json",
    "runs//abababababab/record.json",
    "packs/abababababab/evil.so",
    "packs/abababababab/checkpoint.0.py",
    "done/abababababab.py",
    "sweeps/abababababab/evil.py",
    "sweeps/abababababab/submissions/1.json",
    "sweeps/abababababab/cancelled/1",
    "searches/abababababab/batch-0000.json\n",
)


@pytest.mark.parametrize("name", NEVER_EXPORTED)
def test_a_file_that_export_never_writes_is_refused_with_all_of_its_archive(tmp_path, name, capsys):
    path, content = tmp_path / "evil.tar", b"x"
    sums = {name: {"bytes": 1, "sha256": hashlib.sha256(content).hexdigest()}}
    with tarfile.open(path, "w") as archive:
        for each, of in ((LIST, json.dumps({"format": 1, "files": sums}).encode()), (name, content)):
            member = tarfile.TarInfo(each)
            member.size = len(of)
            archive.addfile(member, io.BytesIO(of))
    assert launch(["import", str(path), "--store", str(tmp_path / "there")]) == 1
    said = capsys.readouterr().err
    assert repr(name) in said
    assert "launch export" in said
    assert sorted(tmp_path.rglob("*")) == [path]


def test_every_file_that_a_store_keeps_is_exported_and_others_are_named(tmp_path, capsys):
    store = Store(tmp_path / "store")
    run = pack = sweep = "ab" * 6
    kept = [
        *(
            store.record(run),
            store.metrics(run),
            store.weights(run),
            store.statistics(run),
            store.task_weights(run, 12),
        ),
        *(store.progress(pack), store.binding(pack), store.checkpoint(pack, 3), store.pack_weights(pack, 0)),
        *(store.memory_part(pack, 1, 2), store.done(pack), store.divided(pack), store.set_apart(pack)),
        *(store.plan(sweep), store.batch(sweep, 0), store.batch(sweep, 12345)),
        *(store.registration("my_study-2"), store.first_reading("my_study-2"), store.root / "report.html"),
        *(folder / "curve.png" for folder in (store.run_folder(run), store.pack_folder(pack))),
    ]
    of_this_place = [store.submissions_folder(sweep) / "1.json", store.lease(pack, 0)]
    stranger = store.run_folder(run) / "notes.txt"
    for path in (*kept, *of_this_place, stranger):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    assert launch(["export", str(tmp_path / "all.tar"), "--store", str(store.root)]) == 0
    said = capsys.readouterr().err
    assert "runs/ab/abababababab/notes.txt" in said
    assert "submissions" not in said
    with tarfile.open(tmp_path / "all.tar") as archive:
        names = set(archive.getnames())
    assert names == {LIST, *(path.relative_to(store.root).as_posix() for path in kept)}
    taken = import_archive(Store(tmp_path / "there"), tmp_path / "all.tar")
    assert taken.unreadable.keys() == {run}, "its record is {}"
    there = {name for name in names if (tmp_path / "there" / name).is_file()}
    assert there == {name for name in names - {LIST, "report.html"} if not name.startswith("runs/")}


def test_an_archive_is_never_written_over(whole, archive, capsys):
    before = archive.read_bytes()
    assert launch(["export", str(archive), "--store", str(whole.root)]) == 1
    assert f"{archive} exists already" in capsys.readouterr().err
    assert archive.read_bytes() == before


@pytest.mark.parametrize("cut", [0.3, 0.99])
def test_an_archive_that_breaks_off_or_was_changed_brings_nothing(archive, tmp_path, cut, capsys):
    content = archive.read_bytes()
    broken, there = tmp_path / "broken.tar.gz", tmp_path / "there"
    broken.write_bytes(content[: int(cut * len(content))])
    assert launch(["import", str(broken), "--store", str(there)]) == 1
    assert str(broken) in capsys.readouterr().err
    assert not (there / "runs").exists()
