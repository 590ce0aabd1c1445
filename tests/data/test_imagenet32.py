"""ImageNet at 32 × 32, prepared out of made images in both shapes, and what is said where it cannot be."""

import json

import numpy as np
import pytest
from PIL import Image

from plasticity_lab.data import imagenet32
from plasticity_lab.data.imagenet32 import Size
from plasticity_lab.data.sources import source_named
from plasticity_lab.errors import DataError
from plasticity_lab.randomness.host import host_stream

SMALL = Size(classes=11, train=3, images=5)


def pictures(label: int, count: int = 5) -> np.ndarray:
    return host_stream(label, "pictures").integers(0, 256, (count, 3, 32, 32)).astype(np.uint8)


def class_files(folder, channels_last=False, kind=np.uint8, classes=11):
    (folder / "imagenet32/classes").mkdir(parents=True)
    for label in range(classes):
        own = pictures(label)
        np.save(folder / f"imagenet32/classes/{label}.npy", own.transpose(0, 2, 3, 1) if channels_last else own)
    return folder


def class_folders(folder, side=32, classes=11, count=6):
    for label in range(classes):
        own = folder / f"imagenet32/train/n{label:08}"
        own.mkdir(parents=True)
        for number, picture in enumerate(pictures(label, count)):
            large = Image.fromarray(picture.transpose(1, 2, 0)).resize((side, side), Image.Resampling.NEAREST)
            large.save(own / f"{number}.png")
    return folder


@pytest.mark.parametrize("channels_last", [False, True])
def test_class_files_become_a_set_in_the_order_of_their_numbers(tmp_path, channels_last):
    imagenet32.fetch(class_files(tmp_path, channels_last), SMALL)
    images = imagenet32.load(tmp_path, SMALL)
    assert (images.classes, images.white, images.part) == (11, 255, False)
    assert images.train_labels.tolist() == np.repeat(np.arange(11), 3).tolist()
    assert images.test_labels.tolist() == np.repeat(np.arange(11), 2).tolist()
    for label in range(11):  # 10 comes last, not behind 1
        assert np.array_equal(images.train_images[images.train_by_class[label]], pictures(label)[:3])
        assert np.array_equal(images.test_images[images.test_by_class[label]], pictures(label)[3:])
    channels = images.train_images.transpose(1, 0, 2, 3).reshape(3, -1) / 255
    assert images.moments[0] == pytest.approx(channels.mean(axis=1), abs=1e-6)
    assert images.moments[1] == pytest.approx(channels.std(axis=1), abs=1e-6)
    assert isinstance(images.train_images.base, np.memmap | type(None)) or isinstance(images.train_images, np.memmap)


def test_a_folder_of_pictures_is_the_same_set_whatever_their_size(tmp_path):
    imagenet32.fetch(class_folders(tmp_path, side=64), SMALL)
    images = imagenet32.load(tmp_path, SMALL)
    assert len(images.test_images) == 22, "of six pictures five are taken"
    for label in range(11):
        assert np.array_equal(images.train_images[images.train_by_class[label]], pictures(label)[:3])


def test_grey_and_oblong_pictures_are_taken_too(tmp_path):
    folder = class_folders(tmp_path)
    grey = np.repeat(np.array([[10, 30]], np.uint8), 128, axis=1).repeat(20, axis=0)
    Image.fromarray(grey).save(folder / "imagenet32/train/n00000000/0.png")
    imagenet32.fetch(folder, SMALL)
    first = imagenet32.load(folder, SMALL).train_images[0]
    assert (first[:, :, :16] == 10).all()
    assert (first[:, :, 16:] == 30).all()


def test_what_is_prepared_is_not_prepared_again_and_fewer_classes_are_a_part(tmp_path):
    imagenet32.fetch(class_files(tmp_path, classes=4), SMALL)
    before = (tmp_path / "imagenet32/contents.json").stat().st_mtime_ns
    imagenet32.fetch(tmp_path, SMALL)
    assert (tmp_path / "imagenet32/contents.json").stat().st_mtime_ns == before
    assert imagenet32.load(tmp_path, SMALL).part
    assert not list((tmp_path / "imagenet32").glob(".*"))


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((5, 3, 16, 16), np.uint8), r"9\.npy has the shape \(5, 3, 16, 16\); it must be \(N, 3, 32, 32\)"),
        (np.full((5, 3, 32, 32), 0.5, np.float32), r"9\.npy has numbers that are no pixels"),
        (np.full((5, 3, 32, 32), -1, np.int16), r"9\.npy has numbers that are no pixels"),
        (np.zeros((3, 3, 32, 32), np.uint8), r"The class 9 .* has 3 images; each must have more than 3"),
        (None, r"9\.npy is no NumPy file, or damaged"),
    ],
)
def test_a_class_file_that_is_not_right_is_named_and_nothing_is_prepared(tmp_path, array, words):
    path = class_files(tmp_path) / "imagenet32/classes/9.npy"
    if array is None:
        path.write_bytes(b"nothing")
    else:
        np.save(path, array)
    with pytest.raises(DataError, match=words):
        imagenet32.fetch(tmp_path, SMALL)
    assert not (tmp_path / "imagenet32/contents.json").exists()


def test_floats_that_are_pixels_are_taken(tmp_path):
    path = class_files(tmp_path) / "imagenet32/classes/0.npy"
    np.save(path, pictures(0).astype(np.float32))
    imagenet32.fetch(tmp_path, SMALL)
    assert np.array_equal(imagenet32.load(tmp_path, SMALL).train_images[:3], pictures(0)[:3])


@pytest.mark.parametrize("file", ["contents.json", "train_images.npy"])
def test_damaged_files_are_told_with_the_way_out(tmp_path, file):
    imagenet32.fetch(class_files(tmp_path), SMALL)
    path = tmp_path / "imagenet32" / file
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(DataError, match=r"contents\.json aside.*"):
        imagenet32.load(tmp_path, SMALL)


def test_arrays_of_another_preparation_are_not_taken(tmp_path):
    imagenet32.fetch(class_files(tmp_path), SMALL)
    path = tmp_path / "imagenet32/contents.json"
    contents = json.loads(path.read_text())
    contents["test"][0] += 1
    path.write_text(json.dumps(contents))
    with pytest.raises(DataError, match="together"):
        imagenet32.load(tmp_path, SMALL)


def test_the_outline_is_of_the_published_size():
    outline = source_named("imagenet32").outline()
    assert outline.train_images.shape == (600_000, 3, 32, 32)
    assert outline.test_images.shape == (100_000, 3, 32, 32)
    assert {len(own) for own in outline.train_by_class} == {600}
