import os
import re
import stat
import threading
from pathlib import Path

import pytest
import torch

from plasticity_lab.errors import StoreError
from plasticity_lab.records.damage import write_file, write_mapping
from plasticity_lab.records.files import (
    StoreFault,
    clock_offset,
    create_once,
    make_folder,
    names,
    read,
    seen,
    server_time,
    stands,
    write_atomically,
    write_json,
)
from plasticity_lab.records.store import Store

TOO_MUCH = bytes(1_000_000)


def everything(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_file_is_written_with_its_folder_and_replaced(tmp_path):
    path = tmp_path / "new" / "file"
    write_atomically(path, b"first")
    write_atomically(path, lambda file: file.write(b"second"))
    assert read(path) == b"second"
    assert everything(tmp_path) == ["file"]


@pytest.mark.parametrize("content", [TOO_MUCH, lambda file: torch.save({"x": torch.zeros(250_000)}, file)])
def test_a_full_disk_is_said_and_nothing_is_lost_or_left(small_disk, content):
    path = small_disk / "file"
    write_atomically(path, b"old")
    with pytest.raises(StoreError, match=f"{path}.*full.*free"):
        write_atomically(path, content)
    assert read(path) == b"old"
    assert everything(small_disk) == ["file"]


def test_a_folder_that_cannot_be_made_is_a_sentence():
    folder = Path("/proc/plasticity_lab/store")
    for write in (
        lambda: Store(folder).prepare(),
        lambda: Store(folder).try_out(),
        lambda: write_json(folder / "x", 1),
    ):
        with pytest.raises(StoreError, match=re.escape("/proc/plasticity_lab")) as error:
            write()
        assert "store=FOLDER" in str(error.value)


def test_a_store_that_is_a_file_or_lies_below_one_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file.*store=FOLDER"):
        Store(tmp_path / "file").prepare()
    with pytest.raises(StoreError, match="folder"):
        Store(tmp_path / "file" / "store").prepare()


def test_what_killed_processes_were_writing_goes_after_an_hour(store):
    store.prepare()
    old, new, kept = (store.leases_folder / name for name in (".p.0a.tmp", ".p.0b.tmp", "p.0"))
    for path in (old, new, kept, store.leases_folder / ".trial.0c.link"):
        path.write_bytes(b"")
        if path != new:
            os.utime(path, (1, 1))
    store.clear_unfinished("sweep")
    assert sorted(os.listdir(store.leases_folder)) == [new.name, kept.name]


@pytest.mark.parametrize("write", [lambda path: write_mapping(path, {}), lambda path: write_file(path, b"{}")])
def test_a_folder_in_the_place_of_a_file_of_the_store_is_set_aside(tmp_path, caplog, write):
    for number in (1, 2):
        (tmp_path / "file" / "within").mkdir(parents=True)
        write(tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == b"{}"
        assert (tmp_path / f"file.corrupt-{number}" / "within").is_dir()
        assert f"is a folder instead of a file; it is file.corrupt-{number} now" in caplog.text
        (tmp_path / "file").unlink()


def test_an_error_of_the_writer_leaves_nothing(tmp_path):
    def breaks(file):
        file.write(b"half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_atomically(tmp_path / "file", breaks)
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "file", {"x": float("nan")})
    assert os.listdir(tmp_path) == []


def test_of_many_that_create_a_file_one_succeeds(tmp_path):
    won, start = [], threading.Barrier(8)

    def create(number):
        start.wait()
        if create_once(tmp_path / "file", str(number).encode()):
            won.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert read(tmp_path / "file") == str(won[0]).encode()
    assert everything(tmp_path) == ["file"]


def test_a_lost_reply_still_counts_as_created(tmp_path, monkeypatch):
    link = os.link

    def link_whose_reply_is_lost(source, target):
        link(source, target)
        raise FileExistsError

    monkeypatch.setattr(os, "link", link_whose_reply_is_lost)
    assert create_once(tmp_path / "file", b"mine")


def test_a_disk_without_hard_links_is_named_as_such(tmp_path, monkeypatch):
    def refuses(source, target):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuses)
    with pytest.raises(StoreError, match="no hard links"):
        Store(tmp_path).prepare()


def test_files_being_written_are_no_names_and_a_missing_folder_is_empty(tmp_path):
    write_atomically(tmp_path / "b", b"")
    (tmp_path / ".a.123.tmp").write_text("left by a killed process")
    assert names(tmp_path) == ["b"]
    assert names(tmp_path / "none") == []
    assert read(tmp_path / "none") is None


def test_how_far_the_clock_of_the_files_is_ahead_is_measured(tmp_path, monkeypatch):
    first = server_time(tmp_path)
    os.utime(tmp_path, (0, 0))
    assert server_time(tmp_path) >= first > 1e9
    assert abs(clock_offset(tmp_path)) < 1
    really = os.stat

    def stat_of_a_server_ten_minutes_ahead(path, **options):
        found = list(really(path, **options))
        found[8] += 600
        return os.stat_result(found)

    monkeypatch.setattr(os, "stat", stat_of_a_server_ten_minutes_ahead)
    assert clock_offset(tmp_path) == pytest.approx(600, abs=2)
    assert everything(tmp_path) == []


@pytest.mark.parametrize("disk", ["full", "read-only"])
def test_what_may_pass_is_told_from_what_stays_and_leaves_nothing(small_disk, make_read_only, disk):
    Store(small_disk / "old").prepare()
    Store(small_disk / "old").prepare()
    assert sorted(os.listdir(small_disk / "old")) == ["calibration", "done", "leases", "packs", "runs", "sweeps"]
    if disk == "full":
        with pytest.raises(OSError, match="No space"), open(small_disk / "ballast", "wb") as ballast:
            ballast.write(TOO_MUCH)
    else:
        make_read_only()
    for root in ("old", "new") if disk == "read-only" else ("old",):
        with pytest.raises(StoreFault, match=f"{small_disk}.*{disk}"):
            Store(small_disk / root).prepare()
    with pytest.raises(StoreFault, match=disk):
        write_atomically(small_disk / "file", TOO_MUCH)
    with pytest.raises(StoreError) as stays:
        write_atomically(small_disk / "ballast" / "file" if disk == "full" else Path("/proc/file"), b"")
    assert not isinstance(stays.value, StoreFault)
    assert everything(small_disk) == ["ballast"][: disk == "full"]


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder):
    return {
        path.relative_to(folder).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in sorted(folder.rglob("*"))
    }


def test_what_is_written_into_a_groups_folder_is_the_groups(tmp_path, umask):
    """Else a colleague could read the sweep and not go on with it: 022 is the usual umask."""
    ours, mine = tmp_path / "ours", tmp_path / "mine"
    for folder, mode in ((ours, 0o2775), (mine, 0o755)):
        folder.mkdir()
        folder.chmod(mode)
        Store(folder / "store").prepare()
        write_json(folder / "store" / "packs" / "a" / "file", {})
        create_once(folder / "store" / "leases" / "lease", b"")
    shared, own = modes(ours), modes(mine)
    assert {mode for name, mode in shared.items() if (ours / name).is_dir()} == {0o2775}
    assert {mode for name, mode in shared.items() if (ours / name).is_file()} == {0o664}
    assert {mode for name, mode in own.items() if (mine / name).is_dir()} == {0o755}
    assert {mode for name, mode in own.items() if (mine / name).is_file()} == {0o644}


def test_where_everybody_may_write_nothing_is_shared(tmp_path, umask):
    tmp_path.chmod(0o1777)
    write_atomically(tmp_path / "store" / "file", b"")
    assert modes(tmp_path) == {"store": 0o755, "store/file": 0o644}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to a group that it is not in")
def test_a_new_file_belongs_to_the_group_of_its_folder(tmp_path, umask):
    os.chown(tmp_path, -1, 12345)
    tmp_path.chmod(0o775)
    write_atomically(tmp_path / "store" / "file", b"")
    assert {path.stat().st_gid for path in tmp_path.rglob("*")} == {12345}
    assert modes(tmp_path) == {"store": 0o775, "store/file": 0o664}


def test_a_name_that_was_not_there_a_moment_ago_is_looked_for_on_the_server(tmp_path, monkeypatch):
    """An NFS client that remembers what it has not found, until it makes a file in that folder itself."""
    really, missing = os.open, set()

    def open_with_a_memory(path, flags, *mode, **options):
        if flags & os.O_CREAT:
            missing.difference_update([each for each in missing if each.parent == Path(path).parent])
        elif Path(path) in missing:
            raise FileNotFoundError
        try:
            return really(path, flags, *mode, **options)
        except FileNotFoundError:
            missing.add(Path(path))
            raise

    monkeypatch.setattr(os, "open", open_with_a_memory)
    assert not seen(tmp_path / "heir")
    (tmp_path / "other").write_bytes(b"")
    os.link(tmp_path / "other", tmp_path / "heir")  # on another machine
    assert not seen(tmp_path / "heir")
    assert stands(tmp_path / "heir")
    assert not stands(tmp_path / "none" / "file")
    assert everything(tmp_path) == ["heir", "other"]


def test_a_parent_that_another_process_makes_at_that_moment_is_no_fault(tmp_path, monkeypatch):
    """The first mkdir finds no parent; before anything else is done there is one."""
    folder, mkdir = tmp_path / "runs" / "00", Path.mkdir

    def late(self, *words, **more):
        if not folder.parent.exists():
            mkdir(folder.parent)
            raise FileNotFoundError
        mkdir(self, *words, **more)

    monkeypatch.setattr(Path, "mkdir", late)
    make_folder(folder)
    assert folder.is_dir()
