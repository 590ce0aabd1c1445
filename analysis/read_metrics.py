"""What runs measured along their way, out of the stores where they lie, for the figures that show it."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import polars as pl

from analysis.asked import tell
from analysis.frames import metrics_frame
from analysis.rows import Row
from plasticity_lab.records.store import Store


def metrics_of(
    places: Sequence[Path], rows: Sequence[Row], runs: Collection[str], told: Callable[[str], None] = tell
) -> pl.LazyFrame:
    """The rows of the metrics.parquet of those runs, with `run`; of a run in several stores the first one's.

    told: is called with a sentence for each damaged or missing file, which is left out. Tables' JSON files among the
    places have no metrics.
    """
    named = set(runs)
    wanted = {row.run: row for row in rows if row.run in named}
    stores = [Store(place) for place in places if place.is_dir()]
    found = []
    for at, store in enumerate(stores):
        last = at == len(stores) - 1
        here = {run: row for run, row in wanted.items() if last or store.metrics(run).exists()}
        frame, damaged = metrics_frame(store, here.values())
        found.append(frame)
        wanted = {run: row for run, row in wanted.items() if run not in here}
        for sentence in damaged:
            told(sentence)
    return pl.concat(found, how="diagonal") if found else metrics_frame(Store("."), [])[0]
