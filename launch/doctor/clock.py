"""Which clock stamps the files of the store: leases compare these stamps, so that all must come from one clock."""

import os
import time
from pathlib import Path

from launch.doctor.file_system import file_system
from launch.doctor.finding import FAILS, OK, UNKNOWN, Finding
from plasticity_lab.records.files import beside, clock_offset, disk_errors

STAMPED_BY_CLIENTS = ("fuseblk", "fuse", "lustre", "sshfs", "9p", "smb2", "cifs")
"""File systems, as `stat` names them, whose clients may stamp files by their own clocks."""
SEEN_SECONDS = 1.0
"""From this offset on the stamps are surely not this machine's own."""


def of_clock(place: Path, lease_seconds: float) -> Finding:
    """How far the clock that stamps the store's files is from this machine's, measured by writing and touching one.

    Raises StoreError.
    """
    written, touched = clock_offset(place), _offset_of_a_touch(place)
    words = f"Clocks: the store's files are stamped {_apart(written)} this machine's clock"
    if abs(written - touched) > SEEN_SECONDS:
        return Finding(
            FAILS,
            f"{words} when they are written, and {_apart(touched)} it when they are touched: leases would look older "
            "than they are. Put the store on another file system.",
        )
    if abs(written) > lease_seconds / 2:
        return Finding(
            FAILS,
            f"{words}, while leases last {lease_seconds:.0f} s; have the clocks set (NTP), or raise "
            "launch.lease_seconds.",
        )
    if abs(written) <= SEEN_SECONDS and (kind := file_system(place)).startswith(STAMPED_BY_CLIENTS):
        return Finding(
            UNKNOWN,
            f"{words}; on {kind} each machine may stamp files by its own clock, and leases hold only if all agree to "
            f"{lease_seconds / 2:.0f} s (NTP).",
        )
    return Finding(OK, f"{words}.")


def _offset_of_a_touch(place: Path) -> float:
    """As `clock_offset`, for a file that is touched as leases are."""
    with beside(place / "clock", b"") as file, disk_errors("write", file):
        os.utime(file, (0.0, 0.0))
        before = time.time()
        os.utime(file)
        after = time.time()
        stamp = file.stat().st_mtime
    return 0.0 if before <= stamp <= after else stamp - (after if stamp > after else before)


def _apart(seconds: float) -> str:
    return f"{abs(seconds):.1f} s {'behind' if seconds < 0 else 'ahead of'}"
