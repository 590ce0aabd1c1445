"""The metrics of a report's runs in a few files: each figure reads them, and to open thousands takes seconds."""

import contextlib
from collections.abc import Collection, Sequence
from pathlib import Path

import polars as pl

from analysis.figures.asked import Metrics
from analysis.rows import Row
from plasticity_lab.records.kept_files import MEASURED


def gathered(rows: Sequence[Row], metrics: Metrics, folder: Path) -> Metrics:
    """The same metrics, read from files in the folder: one for the runs of a benchmark that measure the same.

    metrics: reads the files of any runs; it stays in use for runs that could not be written to the folder.
    """
    runs: dict[tuple[int, str], dict[str, None]] = {}
    for row in rows:
        if row.status in MEASURED:
            runs.setdefault((id(row.declared), row.benchmark), {})[row.run] = None
    place_of: dict[str, Path] = {}
    for at, alike in enumerate(runs.values()):
        path = folder / f"{at}.parquet"
        # Row by row group: a store may hold more than fits into memory.
        with contextlib.suppress(OSError, pl.exceptions.PolarsError):
            metrics(list(alike)).sink_parquet(path, compression="lz4")
            place_of |= dict.fromkeys(alike, path)

    def read(named: Collection[str]) -> pl.LazyFrame:
        there: dict[Path, list[str]] = {}
        for run in named:
            if run in place_of:
                there.setdefault(place_of[run], []).append(run)
        scans = [pl.scan_parquet(path).filter(pl.col("run").is_in(of_path)) for path, of_path in there.items()]
        elsewhere = [run for run in named if run not in place_of]
        if elsewhere or not scans:
            scans.append(metrics(elsewhere))
        return pl.concat(scans, how="diagonal")

    return read
