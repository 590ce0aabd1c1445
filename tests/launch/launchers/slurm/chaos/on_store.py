"""What happens to the store: its disk is full, or read-only, for less than a minute."""

import errno
import os
import subprocess

from tests.launch.launchers.slurm.chaos.scene import Scene

SECONDS = (3.0, 40.0)
DISK = "768m"
"""Of a disk of its own for the store, in memory."""
FILLER = ".filler"


def on_a_disk_of_its_own(folder: str) -> bool:
    """Gives the store's folder such a disk.  Returns whether that can be had here."""
    os.makedirs(folder, exist_ok=True)
    return subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "chaos", folder]).returncode == 0


def full(scene: Scene) -> bool:
    """Not a byte is left."""
    filler = scene.store.root / FILLER
    if filler.exists() or not os.path.ismount(scene.store.root):
        return False
    try:
        with filler.open("wb") as file:
            while True:
                file.write(bytes(2**20))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            return False
    scene.later(scene.draw.uniform(*SECONDS), lambda: filler.unlink(missing_ok=True))
    return True


def read_only(scene: Scene) -> bool:
    """Nothing can be written; nothing may be open for writing when it begins."""
    if not os.path.ismount(scene.store.root) or (scene.store.root / FILLER).exists():
        return False
    if not _remounted(scene, "ro"):
        return False
    scene.later(scene.draw.uniform(*SECONDS), lambda: _remounted(scene, "rw") and None)
    return True


def _remounted(scene: Scene, how: str) -> bool:
    words = ["mount", "-o", f"remount,{how}", str(scene.store.root)]
    return subprocess.run(words, capture_output=True).returncode == 0
