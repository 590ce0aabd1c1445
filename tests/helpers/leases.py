"""Leases of packs, of workers elsewhere, and old ones."""

import os
import time

from launch.packs.leases import Leases
from launch.packs.owner import Owner
from plasticity_lab.records.store import Store

SECONDS = 100
ELSEWHERE = Owner(host="node7", pid=1, started="long ago")
ANOTHER = Owner(host="node8", pid=1, started="long ago")


def leases(store: Store, owner: Owner = ELSEWHERE) -> Leases:
    return Leases(store, SECONDS, owner)


def age(store: Store, pack: str, epoch: int, seconds: float) -> None:
    """Makes a lease that old."""
    then = time.time() - seconds
    os.utime(store.lease(pack, epoch), (then, then))
