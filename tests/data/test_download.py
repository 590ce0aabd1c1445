"""Fetching from mirrors, against a web server on this machine; nothing here reaches the internet."""

import gzip

import pytest

from plasticity_lab.data import mnist
from plasticity_lab.errors import DataError


def test_a_fetched_set_loads_and_a_group_can_read_it(publisher, tmp_path):
    mnist.fetch(tmp_path / "data", publisher.files, [publisher.mirror("good")])
    images = mnist.load(tmp_path / "data", publisher.files)
    assert images.train_images.shape == (12, 1, 3, 3)
    assert images.train_images[1, 0, 0].tolist() == [9, 10, 11]
    assert images.test_labels.tolist() == [0, 1, 2, 3, 4]
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "data" / mnist.SUBFOLDER).iterdir()}
    assert modes == {0o644}


@pytest.mark.parametrize("first", ["gone", "altered", "broken"])
def test_the_second_mirror_is_asked_where_the_first_has_no_file_another_one_or_breaks_off(publisher, tmp_path, first):
    mirrors = [publisher.publish_altered("altered") if first == "altered" else publisher.mirror(first)]
    mnist.fetch(tmp_path, publisher.files, [*mirrors, publisher.mirror("good")])
    mnist.load(tmp_path, publisher.files)
    assert publisher.asked[:2] == [f"/{mirror}/train-images-idx3-ubyte.gz" for mirror in (first, "good")]


def test_what_is_there_and_right_is_not_downloaded_again(publisher, tmp_path):
    mirrors = [publisher.mirror("good")]
    mnist.fetch(tmp_path, publisher.files, mirrors)
    (tmp_path / mnist.SUBFOLDER / "t10k-labels-idx1-ubyte.gz").write_bytes(b"damaged")
    publisher.asked.clear()
    mnist.fetch(tmp_path, publisher.files, mirrors)
    mnist.fetch(tmp_path, publisher.files, mirrors)
    assert publisher.asked == ["/good/t10k-labels-idx1-ubyte.gz"]


def test_what_was_unpacked_or_gzipped_anew_is_not_downloaded_again(publisher, tmp_path):
    mirrors = [publisher.mirror("good")]
    mnist.fetch(tmp_path, publisher.files, mirrors)
    for archive in (tmp_path / mnist.SUBFOLDER).glob("*-labels-*.gz"):
        archive.with_suffix("").write_bytes(gzip.decompress(archive.read_bytes()))
        archive.unlink()
    for archive in (tmp_path / mnist.SUBFOLDER).glob("*-images-*.gz"):
        archive.write_bytes(gzip.compress(gzip.decompress(archive.read_bytes()), compresslevel=1, mtime=1))
    publisher.asked.clear()
    mnist.fetch(tmp_path, publisher.files, mirrors)
    assert publisher.asked == []
    assert mnist.load(tmp_path, publisher.files).train_labels.tolist() == [*range(10), 0, 1]


def test_an_unpacked_file_that_is_damaged_is_healed_by_a_fetch(publisher, tmp_path):
    raw = tmp_path / mnist.SUBFOLDER
    raw.mkdir(parents=True)
    (raw / "train-images-idx3-ubyte").write_bytes(b"damaged")
    mnist.fetch(tmp_path, publisher.files, [publisher.mirror("good")])
    mnist.load(tmp_path, publisher.files)
    assert (raw / "train-images-idx3-ubyte").read_bytes() == b"damaged"


def test_a_wrong_checksum_leaves_no_file_and_says_what_to_do(publisher, tmp_path):
    altered = publisher.publish_altered("altered")
    with pytest.raises(DataError, match=r"checksum.*by hand") as refusal:
        mnist.fetch(tmp_path, publisher.files, [altered])
    raw = tmp_path / mnist.SUBFOLDER
    assert altered in str(refusal.value)
    assert str(raw) in str(refusal.value)
    assert list(raw.iterdir()) == []


def test_without_a_network_a_sentence_names_every_mirror_and_why(publisher, tmp_path):
    mirrors = [publisher.mirror("good"), publisher.mirror("gone")]
    publisher.close()
    with pytest.raises(DataError, match=r"no connection.*by hand") as refusal:
        mnist.fetch(tmp_path, publisher.files, mirrors)
    assert all(mirror in str(refusal.value) for mirror in mirrors)
    assert "\n" not in str(refusal.value)
