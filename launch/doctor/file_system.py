"""What kind of file system a folder lies on."""

import subprocess
from pathlib import Path

STAT_SECONDS = 15.0
"""A file server that does not answer within this time is not waited for."""


def file_system(folder: Path) -> str:
    """Its name, as `stat` has it; empty where `stat` does not know it."""
    try:
        asked = subprocess.run(
            ["stat", "--file-system", "--format=%T", folder], capture_output=True, text=True, timeout=STAT_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""
