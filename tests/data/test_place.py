"""What is wrong with the files of a data set: every cause has its own way out, and none is to delete anything."""

import errno
from pathlib import Path

import pytest

from plasticity_lab.data import digits
from plasticity_lab.data.sources import load_images, source_named
from plasticity_lab.errors import DataError

FIRST = {
    "mnist": "MNIST/raw/train-images-idx3-ubyte",
    "cifar10": "cifar-10-batches-bin/data_batch_1.bin",
    "cifar100": "cifar-100-binary/train.bin",
}
SETS = pytest.mark.parametrize("name", FIRST)
OWN = "plasticity_lab.data fetch {} --folder FOLDER` and say data=FOLDER"
PERMISSION = PermissionError(errno.EACCES, "Permission denied")
CAUSES = {
    "no permission for the file": ("open", PERMISSION, "you have no permission; ask its owner"),
    "no permission for its folder": ("stat", PERMISSION, "you have no permission; ask its owner"),
    "a fault of the disk": ("open", OSError(errno.EIO, "Input/output error"), "reports a fault; try again later"),
    "a file server that forgot": ("stat", OSError(errno.ESTALE, "Stale file handle"), "try again later"),
}


def refused(name, folder):
    """The sentence in which a set is refused."""
    with pytest.raises(DataError) as refusal:
        load_images(name, folder)
    words = str(refusal.value)
    assert "delete" not in words
    assert "\n" not in words
    return words


def placed(name, folder):
    path = folder / FIRST[name]
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not what it should be")
    return path


@SETS
@pytest.mark.parametrize("cause", CAUSES)
def test_a_file_that_is_not_given_is_not_called_damaged(name, cause, tmp_path, monkeypatch):
    path = placed(name, tmp_path)
    call, error, said = CAUSES[cause]
    really = getattr(Path, call)

    def refuses(self, *others, **named):
        if self == path:
            raise error
        return really(self, *others, **named)

    monkeypatch.setattr(Path, call, refuses)
    words = refused(name, tmp_path)
    assert str(path) in words
    assert said in words
    assert OWN.format(name) in words
    assert "move it aside" not in words


@SETS
@pytest.mark.parametrize("folder", [False, True], ids=["damaged", "a folder"])
def test_a_damaged_file_is_to_be_moved_aside(name, folder, tmp_path):
    path = placed(name, tmp_path)
    if folder:
        path.unlink()
        path.mkdir()
    words = refused(name, tmp_path)
    assert str(path) in words
    assert f"python -m plasticity_lab.data fetch {name} --folder {tmp_path}`" in words
    assert OWN.format(name) in words


@SETS
def test_a_folder_named_too_deep_is_answered_with_the_right_one(name, tmp_path):
    placed(name, tmp_path / "sets")
    inside = Path(source_named(name).subfolder)
    for folder in (inside, *inside.parents):
        words = refused(name, tmp_path / "sets" / folder)
        right = f"say data={tmp_path / 'sets'}, the folder that holds {source_named(name).subfolder}."
        assert words.endswith(right) == (folder != Path("."))


def test_digits_without_their_file_name_the_package(monkeypatch, tmp_path):
    monkeypatch.setattr(digits, "find_spec", lambda name: None)
    assert "pip install scikit-learn" in refused("digits", tmp_path)
    monkeypatch.setattr(digits, "find_spec", lambda name: type("Spec", (), {"origin": str(tmp_path / "__init__.py")}))
    assert "--force-reinstall --no-deps scikit-learn" in refused("digits", tmp_path)
