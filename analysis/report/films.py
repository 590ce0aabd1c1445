"""The films of runs, inside the page."""

import base64
from collections.abc import Sequence
from pathlib import Path

from analysis.rows import Row
from plasticity_lab.records.record_facts import MEASURED
from plasticity_lab.records.store import Store

MOST = 8_000_000
"""The maximum number of bytes of all films of a page."""


def films(runs: Sequence[Row], places: Sequence[Path]) -> tuple[dict[int, str], list[str]]:
    """Index of a run's row → its film (a GIF, as base64), and a sentence about films beyond `MOST`."""
    stores = [Store(place) for place in places if place.is_dir()]
    found: dict[int, str] = {}
    size = left = 0
    for at, row in enumerate(runs):
        film = next((film for store in stores if (film := store.film(row.run)).is_file()), None)
        if row.status not in MEASURED or film is None:
            continue
        size += film.stat().st_size
        if size > MOST:
            left += 1
        else:
            found[at] = base64.b64encode(film.read_bytes()).decode("ascii")
    return found, [f"{left} films, which would make the page too large: film.gif next to a record."] if left else []
