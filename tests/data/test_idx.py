import gzip

import numpy as np
import pytest

from plasticity_lab.data.mnist import parse_idx, unpacked_bytes
from plasticity_lab.errors import DataError

REMEDY = "move it aside and fetch it again"


def read(path):
    return parse_idx(unpacked_bytes(path, REMEDY), path, REMEDY)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
@pytest.mark.parametrize("shape", [(7,), (3, 2, 5)])
def test_round_trip(tmp_path, idx, pack, shape):
    array = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    (tmp_path / "file").write_bytes(pack(idx(array)))
    found = read(tmp_path / "file")
    np.testing.assert_array_equal(found, array, strict=True)
    assert found.flags.writeable


def test_the_header_is_big_endian(tmp_path):
    (tmp_path / "labels").write_bytes(bytes.fromhex("00000801 00000003 050004"))  # as MNIST's label file begins
    assert read(tmp_path / "labels").tolist() == [5, 0, 4]


DAMAGE = {
    "empty": (lambda good: b"", "is not an IDX file"),
    "a web page": (lambda good: b"<!DOCTYPE html>", "is not an IDX file of bytes .*3c 21 44 4f"),
    "floats": (lambda good: good[:2] + b"\x0d" + good[3:], "is not an IDX file of bytes"),
    "no dimensions": (lambda good: good[:3] + b"\0", "is not an IDX file of bytes"),
    "half a header": (lambda good: good[:9], "truncated in its header"),
    "cut": (lambda good: good[:-1], "holds 45 bytes, and its header promises 46"),
    "longer": (lambda good: good + b"\0", "holds 47 bytes, and its header promises 46"),
    "cut archive": (lambda good: gzip.compress(good)[:-12], "truncated or damaged"),
    "archive with wrong bits": (lambda good: gzip.compress(good)[:-8] + bytes(8), "truncated or damaged"),
    "archive with a wrong stream": (lambda good: gzip.compress(good)[:10] + b"\xff" * 40, "truncated or damaged"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_refused_in_a_sentence(tmp_path, idx, damage):
    spoil, sentence = DAMAGE[damage]
    path = tmp_path / "some file.gz"
    path.write_bytes(spoil(idx(np.zeros((3, 2, 5)))))
    with pytest.raises(DataError, match=sentence) as refusal:
        read(path)
    assert str(path) in str(refusal.value)
    assert str(refusal.value).endswith(f"{REMEDY}.")
