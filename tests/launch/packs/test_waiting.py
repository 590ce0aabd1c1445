"""What workers that wait ask of the file system."""

import os
import time
from pathlib import Path

from tests.helpers.leases import ANOTHER, SECONDS, leases


def opened(monkeypatch):
    """The files that are opened or made from now on, but for listings."""
    found, really, built_in = [], os.open, open

    def counted(path, flags, *mode, **options):
        found.append(Path(path).name)
        return really(path, flags, *mode, **options)

    def read_bytes(path):
        found.append(path.name)
        with built_in(path, "rb") as file:
            return file.read()

    monkeypatch.setattr(os, "open", counted)
    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    monkeypatch.setattr(os, "fsync", lambda descriptor: found.append("fsync"))
    return found


def test_a_worker_that_waits_opens_no_lease_twice_before_it_can_have_run_out(store, monkeypatch):
    """Else 128 waiting workers open 128 leases each, and write a file, as often as they look."""
    packs = [f"pack{number}" for number in range(20)]
    holder, waiting = leases(store), leases(store, ANOTHER)
    held = [holder.claim(packs) for _ in packs]
    assert waiting.claim(packs) is None
    again = opened(monkeypatch)
    for _ in range(5):
        assert waiting.claim(packs) is None
    assert again == []
    held[3].finish({})
    assert waiting.claim(packs) is None
    assert waiting.left(packs) == [*packs[:3], *packs[4:]], "its end is found though nothing was listed but leases"
    assert len(again) < 20
    later = time.monotonic() + SECONDS / 2 + 1
    held[5].release()
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert waiting.claim(packs).pack == "pack5", "a pack that was given back is found at the latest by then"


def test_endings_are_not_listed_again_and_again(store, monkeypatch):
    """The folder that tells of them grows to one file for each pack of a store."""
    packs = [f"pack{number}" for number in range(50)]
    mine, other = leases(store), leases(store, ANOTHER)
    assert mine.done(packs) == set()
    for _ in range(40):
        other.claim(packs).finish({})
    listed, really = [], os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: listed.append(Path(folder).name) or really(folder))
    looked = opened(monkeypatch)
    assert [mine.claim(packs).pack for _ in range(3)] == packs[40:43]
    assert listed == ["leases", "done", "leases", "leases"]
    assert len([name for name in looked if name in packs]) < 25
