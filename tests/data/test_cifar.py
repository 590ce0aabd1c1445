"""CIFAR's files of records, and its archive fetched from a web server on this machine."""

import dataclasses
import hashlib
import io
import tarfile

import numpy as np
import pytest

from plasticity_lab.data import cifar
from plasticity_lab.data.download import Archive
from plasticity_lab.errors import DataError

COARSE = dataclasses.replace(cifar.CIFAR100, train_images=4, test_images=2)
PLAIN = dataclasses.replace(cifar.CIFAR10, train_images=10, test_images=2)
KINDS = pytest.mark.parametrize("published", [COARSE, PLAIN], ids=lambda published: published.name)


def record(published: cifar.Published, label: int) -> bytes:
    """An image whose planes are all 1, all 2 and all 3, save that its first pixels are the label."""
    coarse = [label // 5] * (len(published.labels) - 1)
    planes = bytearray(bytes([1]) * 1024 + bytes([2]) * 1024 + bytes([3]) * 1024)
    planes[0] = planes[1024] = label
    return bytes([*coarse, label]) + bytes(planes)


def contents(published: cifar.Published) -> dict[str, bytes]:
    """A whole set in small: two images a batch (or four in one), labels 0, 1, 2, …; two for testing, 8 and 9."""
    files, label = {}, 0
    for name in published.train:
        count = published.train_images // len(published.train)
        files[name] = b"".join(record(published, each) for each in range(label, label + count))
        label += count
    return files | {published.test: record(published, 8) + record(published, 9)}


def placed(published: cifar.Published, folder, files=None):
    (folder / published.subfolder).mkdir(parents=True)
    for name, content in (files or contents(published)).items():
        (folder / published.subfolder / name).write_bytes(content)
    return folder


@KINDS
def test_labels_and_planes_are_where_they_are_published(published, tmp_path):
    images = cifar.load(published, placed(published, tmp_path))
    count = published.train_images
    assert images.train_labels.tolist() == list(range(count))
    assert images.test_labels.tolist() == [8, 9]
    assert (images.classes, images.white, images.part) == (published.labels[-1], 255, False)
    assert images.train_images.shape == (count, 3, 32, 32)
    assert images.train_images[:, 0, 0, 0].tolist() == images.train_images[:, 1, 0, 0].tolist() == list(range(count))
    assert (images.train_images[:, :, 1:] == np.array([1, 2, 3]).reshape(1, 3, 1, 1)).all()
    assert not images.train_images.flags.owndata, "a view: the pixels are not copied once more"


def test_fewer_batches_are_a_part(tmp_path):
    files = contents(PLAIN)
    del files["data_batch_1.bin"], files["data_batch_4.bin"]
    images = cifar.load(PLAIN, placed(PLAIN, tmp_path, files))
    assert images.train_labels.tolist() == [2, 3, 4, 5, 8, 9]
    assert images.part


DAMAGE = {
    "cut": (lambda good: good[:-1], "{length:,} bytes, and its {short:,}"),
    "empty": (lambda good: b"", " 0 bytes"),
    "a wrong label": (
        lambda good: good[: -cifar.PIXELS - 1] + bytes([100]) + good[-cifar.PIXELS :],
        "the label 100, and the labels of {title} are 0..{last}",
    ),
}


@KINDS
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_refused_in_a_sentence(published, damage, tmp_path):
    spoil, sentence = DAMAGE[damage]
    files = contents(published)
    good, last = files[published.train[-1]], published.labels[-1] - 1
    files[published.train[-1]] = spoil(good)
    folder = placed(published, tmp_path / "some data", files)
    with pytest.raises(DataError) as refusal:
        cifar.load(published, folder)
    length = len(published.labels) + cifar.PIXELS
    assert sentence.format(length=length, short=len(good) - 1, title=published.title, last=last) in str(refusal.value)
    assert str(folder / published.subfolder / published.train[-1]) in str(refusal.value)
    assert f"python -m plasticity_lab.data fetch {published.name} --folder" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_wrong_coarse_label_is_refused(tmp_path):
    files = contents(COARSE)
    files["test.bin"] = bytes([20]) + files["test.bin"][1:]
    with pytest.raises(DataError, match=r"20.*CIFAR-100.*0\.\.19"):
        cifar.load(COARSE, placed(COARSE, tmp_path, files))


@pytest.fixture
def archived(publisher):
    """PLAIN with the checksum of an archive that the server's mirror `good` has."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in contents(PLAIN).items() | {"readme.html": b"not wanted"}.items():
            member = tarfile.TarInfo(f"{PLAIN.subfolder}/{name}")
            member.size, member.mode = len(content), 0o600
            tar.addfile(member, io.BytesIO(content))
    (publisher.root / "good" / PLAIN.archive.name).write_bytes(buffer.getvalue())
    md5 = hashlib.md5(buffer.getvalue(), usedforsecurity=False).hexdigest()
    return dataclasses.replace(PLAIN, archive=Archive(PLAIN.archive.name, md5))


def test_a_fetched_set_loads_and_leaves_no_archive(archived, publisher, tmp_path):
    folder = tmp_path / "data"
    cifar.fetch(archived, folder, [publisher.mirror("good")])
    assert cifar.load(archived, folder).train_labels.tolist() == list(range(10))
    assert {path.name for path in folder.iterdir()} == {archived.subfolder}
    files = list((folder / archived.subfolder).iterdir())
    assert {path.name for path in files} == {*archived.train, archived.test}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o644}


def test_a_whole_set_is_not_downloaded_again_and_a_part_is_completed(archived, publisher, tmp_path):
    mirrors = [publisher.mirror("good")]
    cifar.fetch(archived, tmp_path, mirrors)
    publisher.asked.clear()
    cifar.fetch(archived, tmp_path, mirrors)
    assert publisher.asked == []
    (tmp_path / archived.subfolder / "data_batch_3.bin").unlink()
    (tmp_path / archived.subfolder / "test_batch.bin").write_bytes(b"damaged")
    cifar.fetch(archived, tmp_path, mirrors)
    assert publisher.asked == [f"/good/{archived.archive.name}"]
    assert not cifar.load(archived, tmp_path).part


def test_an_archive_brought_by_hand_is_used_and_stays(archived, publisher, tmp_path):
    by_hand = tmp_path / archived.archive.name
    by_hand.write_bytes((publisher.root / "good" / archived.archive.name).read_bytes())
    cifar.fetch(archived, tmp_path, [publisher.mirror("gone")])
    assert publisher.asked == []
    assert by_hand.exists()
    cifar.load(archived, tmp_path)


def test_an_archive_with_a_wrong_checksum_leaves_nothing(archived, publisher, tmp_path):
    other = dataclasses.replace(archived, archive=Archive(archived.archive.name, "0" * 32))
    with pytest.raises(DataError, match="wrong checksum"):
        cifar.fetch(other, tmp_path, [publisher.mirror("good")])
    assert list(tmp_path.iterdir()) == [publisher.root]
