import io
import tarfile

import pytest

from plasticity_lab.data.download import unpack
from plasticity_lab.errors import DataError

WANTED = ["set/one.bin", "set/two.bin"]


def written(path, *members: tarfile.TarInfo | str):
    """An archive of the members; a name stands for a file that holds its name."""
    with tarfile.open(path, "w:gz") as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(member)
                info.size = len(member)
                tar.addfile(info, io.BytesIO(member.encode()))
    return path


def link(name: str, target: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def test_only_what_is_wanted_is_unpacked(tmp_path, folder):
    unpack(written(tmp_path / "a.tar.gz", *WANTED, "set/readme.txt", "other/one.bin"), WANTED, folder)
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == ["one.bin", "two.bin"]
    assert (folder / "set/two.bin").read_text() == "set/two.bin"


def test_what_stood_there_is_replaced(tmp_path, folder):
    (folder / "set").mkdir()
    (folder / "set" / "one.bin").write_text("damaged")
    unpack(written(tmp_path / "a.tar.gz", *WANTED), WANTED, folder)
    assert (folder / "set/one.bin").read_text() == "set/one.bin"


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ([*WANTED, "../escaped.bin"], r"names the file \.\./escaped\.bin, outside its own folder"),
        ([*WANTED, "set/../../escaped.bin"], "outside its own folder"),
        ([*WANTED, "/escaped.bin"], "names the file /escaped.bin, outside its own folder"),
        (["set/one.bin", link("set/two.bin", "/etc/passwd", tarfile.SYMTYPE)], "does not hold the file set/two.bin"),
        (["set/one.bin", link("set/two.bin", "set/one.bin", tarfile.LNKTYPE)], "does not hold the file set/two.bin"),
        (["set/one.bin"], "does not hold the file set/two.bin"),
    ],
)
def test_an_unsafe_or_foreign_archive_is_refused_before_anything_is_written(tmp_path, folder, members, sentence):
    archive = written(tmp_path / "a.tar.gz", *members)
    with pytest.raises(DataError, match=sentence) as refusal:
        unpack(archive, WANTED, folder)
    assert str(refusal.value).startswith(str(archive))
    assert list(folder.iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"data", "a.tar.gz"}


@pytest.mark.parametrize("spoil", [lambda good: good[:60], lambda good: b"<html>", lambda good: b""])
def test_a_damaged_archive_is_refused(tmp_path, folder, spoil):
    archive = written(tmp_path / "a.tar.gz", *WANTED)
    archive.write_bytes(spoil(archive.read_bytes()))
    with pytest.raises(DataError, match="aside"):
        unpack(archive, WANTED, folder)
    assert list(folder.iterdir()) == []
