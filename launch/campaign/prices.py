"""The minutes of studies, by plans of their sweeps on an NVIDIA H200: speeds that were measured there."""

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from launch.campaign.campaign import usable
from launch.campaign.entry import Entry
from plasticity_lab.errors import ConfigError

KIND = "NVIDIA H200 (sm_90, CUDA 13.0, cuDNN 91900)"
TOLERANCE = 0.1
"""Stored minutes may differ from a plan by this share of it."""
_ABOUT = re.compile(r"about (?:(\d+) days?, )?(\d+):(\d\d):(\d\d) on 1 worker")


def planned(words: str) -> float:
    """The minutes of a sweep on one worker, from its dry run; nothing is queued.  Raises ConfigError."""
    with tempfile.TemporaryDirectory(prefix="plasticity-plan-") as store:
        asked = [
            sys.executable, "-m", "plasticity_lab.main", *shlex.split(words), "hydra/launcher=slurm_gpu",
            f"hydra.launcher.device_kind='{KIND}'", "launch.workers=1", "dry_run=true", f"store={store}/store",
        ]  # fmt: skip
        said = subprocess.run(asked, capture_output=True, text=True)
    found = _ABOUT.search(said.stdout)
    if found is None:
        raise ConfigError(f"The dry run of {words} says no time: {said.stderr.strip()[-300:]}")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return ((days * 24 + hours) * 60 + minutes) + seconds / 60


def differing(entries: Sequence[Entry]) -> list[str]:
    """A line for each study with other minutes than its plan."""
    lines = []
    for entry in entries:
        if entry.plan:
            minutes = planned(entry.plan)
            if abs(minutes - entry.minutes) > TOLERANCE * minutes + TOLERANCE:
                lines.append(f"{entry.name}: its minutes are {entry.minutes:g}, its plan says {minutes:.1f}.")
    return lines


def never(entries: Sequence[Entry], minutes: float) -> list[str]:
    """A line for each entry that could not begin in a campaign of that length, even if it were the only one."""
    left = usable(minutes)
    return [
        f"{entry.name}: it needs {entry.minutes:g} minutes at once; a campaign of {minutes:g} minutes has {left:.1f}."
        for entry in entries if not entry.resumes and entry.minutes > left
    ]  # fmt: skip
