"""The image sets by name: what they hold, and the sentences where they cannot be had."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from plasticity_lab.data import mnist
from plasticity_lab.data.__main__ import main
from plasticity_lab.data.folder import data_folder
from plasticity_lab.data.sources import load_images, source_named
from plasticity_lab.errors import ConfigError, DataError


def test_digits_are_those_that_scikit_learn_gives(tmp_path):
    theirs, digits = load_digits(), load_images("digits", tmp_path)
    assert digits.train_images.shape == (1437, 1, 8, 8)
    assert digits.test_images.shape == (360, 1, 8, 8)
    assert (np.concatenate([digits.train_images, digits.test_images])[:, 0] == theirs.images).all()
    assert (np.concatenate([digits.train_labels, digits.test_labels]) == theirs.target).all()
    assert digits.train_images.max() == digits.white == 16
    assert not digits.part


@pytest.mark.realdata
@pytest.mark.skipif(not os.environ.get("PLASTICITY_DATA"), reason="PLASTICITY_DATA names no folder of data sets")
def test_mnist():
    images = load_images("mnist", data_folder(os.environ["PLASTICITY_DATA"]))
    assert images.train_images.shape == (60_000, 1, 28, 28)
    assert images.test_images.shape == (10_000, 1, 28, 28)
    assert np.bincount(images.train_labels).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(images.test_labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert images.moments[0] == pytest.approx(0.1307, abs=5e-5)  # the constants everybody quotes
    assert images.moments[1] == pytest.approx(0.3081, abs=5e-5)


@pytest.mark.parametrize(("name", "image", "classes"), [("cifar100", (3, 32, 32), 100), ("cifar10", (3, 32, 32), 10)])
@pytest.mark.realdata
@pytest.mark.skipif(not os.environ.get("PLASTICITY_DATA"), reason="PLASTICITY_DATA names no folder of data sets")
def test_cifar(name, image, classes):
    images = load_images(name, data_folder(os.environ["PLASTICITY_DATA"]))
    assert images.train_images.shape[1:] == images.test_images.shape[1:] == image
    counts = np.bincount(images.train_labels, minlength=classes), np.bincount(images.test_labels, minlength=classes)
    if images.part:
        assert counts[0].min() > 0
        return
    assert counts[0].tolist() == [50_000 // classes] * classes
    assert counts[1].tolist() == [10_000 // classes] * classes
    quoted = {"cifar100": (0.5071, 0.4865, 0.4409), "cifar10": (0.4914, 0.4822, 0.4465)}  # what everybody uses
    assert images.moments[0] == pytest.approx(quoted[name], abs=1e-4)


@pytest.mark.parametrize(
    ("name", "train", "classes"),
    [("mnist", (60_000, 1, 28, 28), 10), ("cifar10", (50_000, 3, 32, 32), 10), ("cifar100", (50_000, 3, 32, 32), 100)],
)
def test_an_outline_has_the_published_number_and_shape(name, train, classes):
    outline = source_named(name).outline()
    assert outline.train_images.shape == train
    assert outline.test_images.shape == (10_000, *train[1:])
    assert np.bincount(outline.train_labels).tolist() == [train[0] // classes] * classes
    assert (outline.name, outline.classes, outline.part) == (name, classes, False)


def test_an_unknown_name_is_answered_with_the_right_ones(tmp_path):
    with pytest.raises(ConfigError, match=r"'mnits'.*cifar10, cifar100, digits, imagenet32, mnist"):
        load_images("mnits", tmp_path)


def test_missing_mnist_says_where_it_was_looked_for_and_what_to_run(tmp_path):
    folder = tmp_path / "no data"
    with pytest.raises(DataError, match="data=… or PLASTICITY_DATA") as refusal:
        load_images("mnist", folder)
    assert f"{folder}/MNIST/raw" in str(refusal.value)
    assert f"`python -m plasticity_lab.data fetch mnist --folder '{folder}'`" in str(refusal.value)


def test_a_file_that_is_not_the_published_one_is_refused(publisher, tmp_path):
    mnist.fetch(tmp_path, publisher.files, [publisher.publish_altered("altered"), publisher.mirror("good")])
    raw = tmp_path / mnist.SUBFOLDER
    other = (publisher.root / "altered" / "train-labels-idx1-ubyte.gz").read_bytes()
    (raw / "train-labels-idx1-ubyte.gz").write_bytes(other)
    with pytest.raises(DataError, match=r"train-labels-idx1-ubyte\.gz.*aside"):
        mnist.load(tmp_path, publisher.files)


def test_the_folder_is_the_setting_else_the_environment_else_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PLASTICITY_DATA", "/data/shared")
    assert data_folder("sets") == Path.cwd() / "sets"
    assert data_folder(None) == Path("/data/shared")
    monkeypatch.setenv("PLASTICITY_DATA", "")
    assert data_folder(None).is_absolute()
    assert data_folder(None).name == "plasticity_lab"
    assert data_folder("~/sets") == Path.home() / "sets"


def test_commands_that_succeed_print_one_line(capsys, tmp_path):
    assert main(["check", "digits"]) == 0
    assert capsys.readouterr().out == "digits: 1,437 training and 360 test images; shipped with scikit-learn.\n"
    assert main(["fetch", "digits", "--folder", str(tmp_path / "new")]) == 0
    assert capsys.readouterr().out.startswith("Nothing needs fetching.")
    assert not (tmp_path / "new").exists()


def test_the_room_loads_neither_torch_nor_scikit_learn_until_needed():
    code = "import sys, plasticity_lab.data.__main__ as m; print(sorted({'torch', 'sklearn'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
