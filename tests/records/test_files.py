import os
import threading

import pytest
import torch

from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import create_once, names, read, server_time, write_atomically, write_json
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
    with pytest.raises(StoreError, match=f"Cannot write {path}: the disk is full; free some space"):
        write_atomically(path, content)
    assert read(path) == b"old"
    assert everything(small_disk) == ["file"]


def test_a_store_on_a_full_disk_is_refused(small_disk):
    Store(small_disk).prepare()
    with pytest.raises(OSError, match="No space"), open(small_disk / "ballast", "wb") as ballast:
        ballast.write(TOO_MUCH)
    with pytest.raises(StoreError, match="the disk is full"):
        Store(small_disk).prepare()
    assert everything(small_disk) == ["ballast"]


def test_a_read_only_disk_is_said_for_a_new_store_an_old_one_and_a_file(small_disk, make_read_only):
    Store(small_disk / "old").prepare()
    make_read_only()
    for root in ("old", "new"):
        with pytest.raises(StoreError, match=f"Cannot write {small_disk}.*read-only"):
            Store(small_disk / root).prepare()
    with pytest.raises(StoreError, match="read-only"):
        write_json(small_disk / "file", {})


def test_a_store_that_is_a_file_or_lies_below_one_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"file is a file; name a folder with store=FOLDER\."):
        Store(tmp_path / "file").prepare()
    with pytest.raises(StoreError, match="a file stands where a folder is needed"):
        Store(tmp_path / "file" / "store").prepare()


def test_preparing_twice_leaves_folders_only(store):
    store.prepare()
    assert everything(store.root) == []
    assert sorted(os.listdir(store.root)) == ["calibration", "done", "leases", "packs", "runs", "sweeps"]


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


def test_the_servers_clock_goes_on(tmp_path):
    first = server_time(tmp_path)
    os.utime(tmp_path, (0, 0))
    assert server_time(tmp_path) >= first > 1e9
