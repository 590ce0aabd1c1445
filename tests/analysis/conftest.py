"""Records as runs leave them, made by hand."""

import hashlib
import json

import polars as pl
import pytest

from plasticity_lab.agents.ppo.agent import PPO_MEASURES
from plasticity_lab.records.record import new_record
from plasticity_lab.run import Run
from tests.helpers.curves import CYCLE, stages_table

PERMUTED_DIGITS = {
    "name": "permuted_digits",
    "source": "digits",
    "images": 1437,
    "tasks": 10,
    "epochs": 1,
    "steps": None,
    "batch_size": 16,
    "order": "fixed",
}
PERMUTED_MNIST = {**PERMUTED_DIGITS, "name": "permuted_mnist", "source": "mnist", "images": 10000, "tasks": 500}
CIFAR51 = {**PERMUTED_MNIST, "name": "cifar51", "source": "cifar100", "order": "class_blocks"}


def _record(
    activation="relu",
    seed=0,
    taoa=0.5,
    benchmark=PERMUTED_DIGITS,
    status="done",
    lr=0.001,
    protocol="as_published",
    schedule="demo",
    hyperparams="default",
    intervention="none",
    collapsed=False,
    provenance=None,
    asked_as=None,
    science=None,
    summary=None,
    **shape,
):
    full = {
        "seed": seed,
        "precision": "fp32",
        "activation": {"name": activation, **shape},
        "benchmark": benchmark,
        "network": {"name": "mlp", "hidden": 100},
        "optimizer": {"name": "adam", "lr": lr},
        "intervention": {"name": intervention},
        "agent": {"name": "supervised"},
        **(science or {}),
    }
    asked = {"protocol": protocol, "schedule": schedule, "hyperparams": hyperparams, "experiment": None}
    run = Run(hashlib.sha256(json.dumps(full, sort_keys=True).encode()).hexdigest()[:12], full, {}, asked_as or [asked])
    return new_record(
        run,
        status,
        provenance={"data_part": False, **(provenance or {})},
        summary={"taoa": taoa, "gap": 0.01, "parameters": 17610, "seconds": 2.5, **(summary or {})},
        collapsed=collapsed,
        error="out of memory" if status == "failed" else None,
        diverged_at_step=7 if status == "diverged" else None,
        stopped_at_step=7 if status == "stopped" else None,
    )


@pytest.fixture
def record():
    """A record of the run that the arguments describe; further keywords are the activation's shape parameters."""
    return _record


@pytest.fixture
def seeds(record):
    """The records of one setting: a TAOA for each seed from 0."""
    return lambda activation, values, **what: [
        record(activation, seed=seed, taoa=value, **what) for seed, value in enumerate(values)
    ]


@pytest.fixture
def benchmarks():
    """Science settings of benchmarks: embedded, published, and in class blocks."""
    return {"digits": PERMUTED_DIGITS, "mnist": PERMUTED_MNIST, "cifar51": CIFAR51}


@pytest.fixture
def cycles(record):
    """Records and metrics of runs with bodies in turn.

    of: activation → for each run, what it returned in each cycle.
    """
    tables = {}

    def add(of, tested=True, **what):
        records = []
        for activation, runs in of.items():
            for seed, run in enumerate(runs):
                one = record(activation, seed, benchmark=CYCLE, science={"agent": {"name": "ppo"}}, **what)
                records.append(one | {"measures": PPO_MEASURES.as_json()})
                tables[one["run"]] = pl.from_arrow(stages_table(run, tested)).with_columns(run=pl.lit(one["run"]))
        return records

    add.metrics = lambda runs: pl.concat([table for run, table in tables.items() if run in set(runs)]).lazy()
    return add
