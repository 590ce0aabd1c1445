import logging
import os

import pytest
import torch

from plasticity_lab.errors import StoreError
from plasticity_lab.records.checkpoint import FORMAT, clear_pack, load_checkpoint, save_checkpoint

PAYLOAD = {"agent": {"w": torch.arange(3000.0), "name": "supervised"}, "steps": [1, 2], "seconds": 1.5, "mode": None}


def steps(store):
    found = load_checkpoint(store, "pack")
    return found and found["steps"]


def test_the_highest_epoch_counts_and_the_latest_of_an_epoch(store):
    assert load_checkpoint(store, "pack") is None
    save_checkpoint(store, "pack", 0, {"steps": 1})
    save_checkpoint(store, "pack", 0, {"steps": 2})
    assert steps(store) == 2
    save_checkpoint(store, "pack", 10, {"steps": 3})
    save_checkpoint(store, "pack", 9, {"steps": 4})  # a holder that does not know yet that it was overtaken
    assert steps(store) == 3


def test_what_is_saved_comes_back_as_it_was(store):
    save_checkpoint(store, "pack", 0, PAYLOAD)
    found = load_checkpoint(store, "pack")
    assert torch.equal(found["agent"].pop("w"), PAYLOAD["agent"]["w"])
    assert found == {**PAYLOAD, "agent": {"name": "supervised"}}


def test_a_checkpoint_from_before_formats_were_written_is_read(store):
    save_checkpoint(store, "pack", 0, PAYLOAD)
    path = store.checkpoint("pack", 0)
    whole = torch.load(path, weights_only=True)
    assert whole.pop("format") == FORMAT == 2
    torch.save(whole, path)
    assert load_checkpoint(store, "pack").keys() == PAYLOAD.keys()


def test_two_epochs_are_kept(store):
    for epoch in range(5):
        save_checkpoint(store, "pack", epoch, {"steps": epoch})
    assert sorted(os.listdir(store.pack_folder("pack"))) == ["checkpoint.3", "checkpoint.4"]


def cut(content):
    return content[: len(content) // 2]


def flip_a_bit(content):
    return content[:4000] + bytes([content[4000] ^ 1]) + content[4001:]


@pytest.mark.parametrize("damage", [cut, flip_a_bit, lambda _: b"", lambda _: b"nonsense"])
def test_a_damaged_checkpoint_is_named_and_the_one_before_counts(store, damage, caplog):
    save_checkpoint(store, "pack", 0, PAYLOAD | {"steps": 1})
    save_checkpoint(store, "pack", 1, PAYLOAD | {"steps": 2})
    path = store.checkpoint("pack", 1)
    path.write_bytes(damage(path.read_bytes()))
    with caplog.at_level(logging.WARNING):
        assert steps(store) == 1
    assert str(path) in caplog.text
    store.checkpoint("pack", 0).write_bytes(b"")
    assert load_checkpoint(store, "pack") is None


def test_nothing_is_unpickled(store, tmp_path):
    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "trap"),))

    save_checkpoint(store, "pack", 0, {"x": Trap()})
    assert load_checkpoint(store, "pack") is None
    assert not (tmp_path / "trap").exists()


def test_other_files_of_a_pack_are_no_checkpoints_and_go_with_it(store):
    save_checkpoint(store, "pack", 0, {"steps": 1})
    for name in ("progress.json", ".checkpoint.1.abc.tmp", "checkpoint.x"):
        (store.pack_folder("pack") / name).write_text("")
    assert steps(store) == 1
    clear_pack(store, "pack")
    clear_pack(store, "pack")
    assert not store.pack_folder("pack").exists()


def test_a_full_disk_keeps_the_checkpoint_before(store, small_disk):
    full = type(store)(small_disk)
    save_checkpoint(full, "pack", 0, {"steps": 1})
    with pytest.raises(StoreError, match="the disk is full"):
        save_checkpoint(full, "pack", 0, {"steps": 2, "w": torch.zeros(1_000_000)})
    assert steps(full) == 1
    assert os.listdir(full.pack_folder("pack")) == ["checkpoint.0"]
