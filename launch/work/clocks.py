"""Whether the file server's clock and this machine's agree: whoever reads leases and logs would wonder otherwise."""

import contextlib
import logging

from plasticity_lab.errors import StoreError
from plasticity_lab.records.files import clock_offset
from plasticity_lab.records.store import Store

log = logging.getLogger("launch.work.worker")
CLOCKS_APART_SECONDS = 5.0


def say_if_clocks_differ(store: Store) -> None:
    """Says that the clocks differ, where that is seen."""
    with contextlib.suppress(StoreError):
        apart = clock_offset(store.leases_folder)
        if abs(apart) > CLOCKS_APART_SECONDS:
            log.warning(
                "The clock that stamps the files of %s is %.0f s %s this machine's. Leases go by the former; where "
                "each machine stamps its own files, as on Lustre or sshfs, have the clocks set (NTP).",
                store.root,
                abs(apart),
                "ahead of" if apart > 0 else "behind",
            )
