"""Whether two stores hold the same numbers, run by run: what a change that must move none is checked with.

    python -m tests.helpers.same_numbers BEFORE AFTER

Compares the metrics, the summaries except for their seconds, and the weights of all runs of BEFORE, bit for bit.
"""

import sys

from plasticity_lab.records.files import names
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.store import Store
from plasticity_lab.records.weights import read_weights


def differences(before: Store, after: Store) -> tuple[int, list[str]]:
    """How many runs were compared, and a line for each that differs."""
    runs = [run for first in names(before.runs_folder) for run in names(before.runs_folder / first)]
    return len(runs), [f"{run}: {what}" for run in runs for what in _of_run(before, after, run)]


def _of_run(before: Store, after: Store, run: str) -> list[str]:
    records = read_record(before, run), read_record(after, run)
    if None in records:
        return ["there is no record"]
    summaries = [{key: value for key, value in record["summary"].items() if key != "seconds"} for record in records]
    tables = read_metrics(before, run), read_metrics(after, run)
    weights = [
        {name: value.numpy().tobytes() for name, value in (read_weights(store, run) or {}).items()}
        for store in (before, after)
    ]
    found = ["status"] if records[0]["status"] != records[1]["status"] else []
    found += ["science"] if records[0]["science"] != records[1]["science"] else []
    found += ["summary"] if summaries[0] != summaries[1] else []
    found += ["metrics"] if not tables[0].equals(tables[1]) else []
    return found + (["weights"] if weights[0] != weights[1] else [])


if __name__ == "__main__":
    compared, found = differences(Store(sys.argv[1]), Store(sys.argv[2]))
    print("\n".join([*found, f"{compared} runs compared, {len(found)} differences"]))
    sys.exit(bool(found) or not compared)
