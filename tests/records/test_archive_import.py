"""Archives that were damaged, or made to harm: one sentence, and nothing is left behind."""

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import tarfile
import time
import zipfile
from collections import namedtuple

import pytest

from launch.__main__ import main as launch
from plasticity_lab.records.archive import LIST

RUN = "runs/ab/abababababab/record.json"
BATCH = "searches/abababababab/batch-0000.json"


def listed(files, **changed):
    """The list of an archive of these files: name → content.  changed: name → its entry."""
    sums = {name: {"bytes": len(of), "sha256": hashlib.sha256(of).hexdigest()} for name, of in files.items()}
    return json.dumps({"format": 1, "files": sums | changed}).encode()


def tar(*members):
    """A tar file of (name, content, attributes)."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content, attributes in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            for key, value in attributes.items():
                setattr(member, key, value)
            archive.addfile(member, io.BytesIO(content))
    return written.getvalue()


def with_list(content, *members):
    return tar((LIST, content, {}), *members)


def whole(files=None, **attributes):
    files = {BATCH: b"{}"} if files is None else files
    return with_list(listed(files), *((name, of, attributes) for name, of in files.items()))


def large_header():
    """An extended header of 1 GiB, of which the archive has no byte."""
    header = tarfile.TarInfo("x")
    header.size, header.type = 1 << 30, tarfile.XHDTYPE
    return tar((LIST, listed({}), {}))[:1024] + header.tobuf(tarfile.USTAR_FORMAT)


def zipped():
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr(LIST, listed({}))
    return written.getvalue()


HOSTILE = {
    "empty": b"",
    "no tar": b"no tar" * 1000,
    "zip": zipped(),
    "xz": lzma.compress(whole()),
    "bz2": bz2.compress(whole()),
    "cut": whole()[:1500],
    "cut within gzip": gzip.compress(whole({BATCH: bytes(range(256)) * 40}))[:-200],
    "no list": tar((BATCH, b"{}", {})),
    "a list that is a link": tar((LIST, b"", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"})),
    "a list that is no JSON": with_list(b"{"),
    "a list that is too deep": with_list(b"[" * 100_000),
    "a list without end": with_list(b'{"format": 1, "files": ' + b'{"a":' * 50_000),
    "a list of another kind": with_list(b"[]"),
    "files of another kind": with_list(b'{"format": 1, "files": []}'),
    "a format that is no number": with_list(b'{"format": null, "files": {}}'),
    "an entry of another kind": with_list(listed({}, **{BATCH: 7})),
    "a size that is no number": with_list(listed({}, **{BATCH: {"bytes": "2", "sha256": "x"}})),
    "a size below nothing": with_list(listed({}, **{BATCH: {"bytes": -1, "sha256": "x"}})),
    "a number of a million digits": with_list(b'{"format": ' + b"1" * 1_000_000 + b"}"),
    "a size that is not the stated one": with_list(
        listed({}, **{BATCH: {"bytes": 3, "sha256": "x"}}), (BATCH, b"{}", {})
    ),
    "a file twice": with_list(listed({BATCH: b"{}"}), (BATCH, b"{}", {}), (BATCH, b"{}", {})),
    "a file that the list lacks": with_list(listed({}), (BATCH, b"{}", {})),
    "a file that is missing": with_list(listed({BATCH: b"{}"})),
    "a link": whole({BATCH: b""}, type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "a hard link": whole({BATCH: b""}, type=tarfile.LNKTYPE, linkname=LIST),
    "a folder": whole({BATCH: b""}, type=tarfile.DIRTYPE),
    "a pipe": whole({BATCH: b""}, type=tarfile.FIFOTYPE),
    "a device": whole({BATCH: b""}, type=tarfile.CHRTYPE),
    "a time that is none": whole(pax_headers={"mtime": "nan"}),
    "a time without end": whole(pax_headers={"mtime": "1e300"}),
    "a time before all": whole(pax_headers={"mtime": "-5"}),
    "a size in words": whole(pax_headers={"size": "many"}),
    "holes": whole(pax_headers={"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9" * 12}),
    "a header of 1 GiB": large_header(),
    "a name with control characters": whole({f"{BATCH}\x1b[2J\n": b"{}"}),
    "an absolute name": whole({"/etc/cron.d/harm": b"{}"}),
    "a name above the store": whole({"runs/../../harm": b"{}"}),
    "a mark that cancels": whole({"cancelled/abababababab/1": b"{}"}),
    "a script": whole({"sweeps/abababababab/submissions/submission.sh": b"{}"}),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_an_archive_that_export_cannot_have_written_is_one_sentence_and_leaves_nothing(kind, tmp_path, capsys):
    path = tmp_path / "study.tar.gz"
    path.write_bytes(HOSTILE[kind])
    assert launch(["import", str(path), "--store", str(tmp_path / "there")]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert str(path) in said.err
    assert said.err.count("\n") == 1
    assert said.err[:-1].isprintable()
    assert sorted(tmp_path.rglob("*")) == [path]


def test_an_archive_for_which_the_disk_has_no_room_is_refused_before_a_byte_is_written(tmp_path, monkeypatch, capsys):
    """Zeros: 1.3 MB of an archive can stand for 1 GiB of files."""
    path = tmp_path / "study.tar.gz"
    path.write_bytes(gzip.compress(whole({BATCH: bytes(1 << 22)})))
    assert path.stat().st_size < 10_000
    usage = namedtuple("usage", ["total", "used", "free"])
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(1 << 30, 0, (1 << 28) + (1 << 21)))
    assert launch(["import", str(path), "--store", str(tmp_path / "there")]) == 1
    said = capsys.readouterr().err
    assert f"{1 << 22:,} bytes" in said
    assert "--store" in said
    assert sorted(tmp_path.rglob("*")) == [path]


def test_a_run_that_no_table_could_read_stays_in_the_archive_and_is_not_counted(tmp_path, capsys):
    path = tmp_path / "study.tar"
    path.write_bytes(
        whole({RUN: b"{}", "runs/cd/cdcdcdcdcdcd/metrics.parquet": b"PAR1", BATCH: b"{}", "report.html": b"x"})
    )
    assert launch(["import", str(path), "--store", str(tmp_path / "there")]) == 0
    said = capsys.readouterr()
    assert "0 runs" in said.out
    assert "abababababab" in said.err
    assert "cdcdcdcdcdcd" in said.err
    files = {
        file.relative_to(tmp_path / "there").as_posix() for file in (tmp_path / "there").rglob("*") if file.is_file()
    }
    assert files == {BATCH}


def test_the_folder_of_an_import_that_was_killed_goes_with_a_later_one(tmp_path):
    store = tmp_path / "there"
    left, path = store / ".import-1", tmp_path / "study.tar"
    left.mkdir(parents=True)
    path.write_bytes(whole())
    for gone, age in ((False, 3600), (True, 25 * 3600)):
        os.utime(left, (time.time() - age,) * 2)
        assert launch(["import", str(path), "--store", str(store)]) == 0
        assert left.exists() != gone
