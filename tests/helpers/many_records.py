"""Ten thousand made records, to measure how fast a store is read: `python -m tests.helpers.many_records FOLDER [RUNS]`.

The runs are real ones, as commands name them; nobody trained them. One in twenty is of an agent with episodes.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from launch.command import resolve
from plasticity_lab.agents.ppo.agent import PPO_MEASURES
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.damage import seal
from plasticity_lab.records.index_files import add_line
from plasticity_lab.records.measures import Measures
from plasticity_lab.records.record import new_record, outcome_of
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

CLASSIFIERS = "permuted_digits,permuted_mnist,random_label_mnist,cifar51"
RATES = "1e-3,3e-4,1e-4"
ACTIVATIONS, SETTINGS = 19, 12
"""Of `activation=glob(*,exclude=[aid,hadamard])`; four benchmarks at three learning rates."""


def many_records(folder: Path, count: int = 10_000) -> None:
    """Writes that many records with their metrics: 19 activations, four benchmarks, three learning rates, seeds.

    One in fifty diverged, one in fifty collapsed or was unstable. Files are written plainly: a made store need not
    outlive a power cut. Its index is as workers leave it.
    """
    store = Store(folder)
    players = count // 20
    for benchmark, agent, measures, wanted in (
        (CLASSIFIERS, "supervised", CLASSIFIER, count - players),
        ("classic_cycle", "ppo", PPO_MEASURES, players),
    ):
        seeds = -(-wanted // (ACTIVATIONS * (SETTINGS if agent == "supervised" else 3)))
        words = [
            "activation=glob(*,exclude=[aid,hadamard])", f"benchmark={benchmark}", f"agent={agent}",
            f"optimizer.lr={RATES}", f"seed=range(0,{seeds})", f"store='{folder}'",
        ]  # fmt: skip
        contents = [made_metrics(measures, which) for which in range(20)]
        for number, run in enumerate(resolve(words).runs[:wanted]):
            write_made(store, run, number, measures, contents[number % len(contents)])


def write_made(store: Store, run: Run, number: int, measures: Measures, metrics: bytes) -> None:
    """Writes the record of a run, the number-th, as if it had ended, with these metrics and a line in the index."""
    luck = np.random.Generator(np.random.Philox(key=number))
    diverged, odd = number % 50 == 7, number % 50 == 9
    summary = {each.name: float(luck.random()) for each in measures.summaries}
    record = new_record(
        run,
        "diverged" if diverged else "done",
        {
            "commit": "e57c382f9aab2bd87f7b0bcad5da98a50dd3374b", "dirty": False, "python": "3.11.7", "host": "made",
            "versions": {"plasticity_lab": "0.1.0", "torch": "2.13.0+cpu", "numpy": "2.4.6", "hydra-core": "1.3.8"},
            "platform": "Linux", "cpu": "AMD EPYC", "device": "cpu", "mode": "eager", "pack": "01bf105e17cd",
            "start": "2026-11-22T04:12:09+00:00", "end": "2026-11-22T04:12:25+00:00", "data": "made",
            "data_part": False, "width": 3,
        },
        summary={**summary, "parameters": 9310, "seconds": 5.114},
        collapsed=odd and measures is CLASSIFIER,
        flags={"unstable": odd} if measures is not CLASSIFIER else None,
        measures=measures.as_json(),
        diverged_at_step=77 if diverged else None,
        files={"metrics.parquet": seal(metrics)},
    )  # fmt: skip
    folder = store.run_folder(run.id)
    folder.mkdir(parents=True)
    (folder / "metrics.parquet").write_bytes(metrics)
    (folder / "record.json").write_text(json.dumps(record, indent=1))
    add_line(store, run.id, outcome_of(store, run.id))


def made_metrics(measures: Measures, which: int) -> bytes:
    """A hundred tasks of one epoch, and ten episodes in each where the agent has them."""
    luck = np.random.Generator(np.random.Philox(key=which))
    kinds = [*["episode"] * (10 if measures is PPO_MEASURES else 0), "epoch", "task"]
    rows = 100 * len(kinds)
    columns = {"kind": pa.array(kinds * 100)}
    for field in list(measures.schema)[1:]:
        if field.name in ("task", "epoch"):
            values = np.repeat(np.arange(100), len(kinds))
        elif field.name == "step":
            values = 90 * (1 + np.repeat(np.arange(100), len(kinds)))
        else:
            values = luck.random(rows)
        columns[field.name] = pa.array(values).cast(field.type, safe=False)
    written = pa.BufferOutputStream()
    pq.write_table(pa.table(columns, schema=measures.schema), written, compression="zstd")
    return written.getvalue().to_pybytes()


if __name__ == "__main__":
    many_records(Path(sys.argv[1]), *map(int, sys.argv[2:]))
