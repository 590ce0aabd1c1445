"""What the doctor says of the clock that stamps the store's files."""

import os

import pytest

from launch.doctor import machine
from launch.doctor.machine import FAILS, OK, UNKNOWN, of_clock


def test_one_clock_that_agrees_is_fine(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "file_system", lambda folder: "ext2/ext3")
    found = of_clock(tmp_path, 120)
    assert found.state == OK
    assert "0.0 s" in found.words
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("offset", "state"), [(30.0, OK), (-30.0, OK), (600.0, FAILS), (-600.0, FAILS)])
def test_a_server_whose_clock_is_off_is_measured(tmp_path, monkeypatch, offset, state):
    monkeypatch.setattr(machine, "clock_offset", lambda folder: offset)
    monkeypatch.setattr(machine, "_offset_of_a_touch", lambda folder: offset)
    found = of_clock(tmp_path, 120)
    assert found.state == state
    assert f"{abs(offset):.1f} s {'ahead of' if offset > 0 else 'behind'}" in found.words
    assert ("launch.lease_seconds" in found.words) == (state == FAILS)


def test_where_each_machine_stamps_its_own_files_it_cannot_be_told(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "file_system", lambda folder: "lustre")
    found = of_clock(tmp_path, 120)
    assert found.state == UNKNOWN
    assert "NTP" in found.words


def test_files_that_are_touched_by_another_clock_than_they_are_written_by_are_no_leases(tmp_path, monkeypatch):
    """The server stamps what is written, and the client what is touched."""
    really = os.utime

    def utime(path, times=None):
        really(path, times or (2_000_000_000, 2_000_000_000))

    monkeypatch.setattr(os, "utime", utime)
    assert of_clock(tmp_path, 120).state == FAILS
