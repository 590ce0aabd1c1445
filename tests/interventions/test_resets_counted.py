"""Resets reach the records: how many by the end of each task, and in all."""

from pathlib import Path

import pytest

from plasticity_lab.assembly import assembled, resources
from plasticity_lab.records.journal import Journal
from plasticity_lab.records.measures import Declared
from plasticity_lab.records.targets import measures_of
from plasticity_lab.trainer import train
from tests.agents.ppo.packs import SMALL
from tests.helpers.packs import CPU, Keeper
from tests.helpers.sweeps import runs_of

REDO = ("intervention=redo", "intervention.strength=0.6", "intervention.every=4")
BENCHMARKS = {
    "supervised": ("benchmark=permuted_digits", "benchmark.tasks=2", "network.width=16"),
    "ppo": SMALL,
}


@pytest.mark.parametrize("agent", BENCHMARKS)
def test_a_task_has_the_resets_so_far_and_the_summary_those_of_the_last(agent):
    runs = runs_of(*BENCHMARKS[agent], *REDO, "seed=0,1")
    measures = measures_of(runs[0].targets)
    journal = Journal(2, measures)
    stream, learner = assembled(runs, resources(Path())(runs[0]), CPU, False)
    train(stream, learner, journal, Keeper())
    for k in range(2):
        table = journal.table(k)
        kinds, resets = table["kind"].to_pylist(), table["resets"].to_pylist()
        assert all(value is None for kind, value in zip(kinds, resets, strict=True) if kind != "task")
        first, last = (value for kind, value in zip(kinds, resets, strict=True) if kind == "task")
        assert 0 < first < last == learner.network.kept["resets"][k]
        assert measures.summarise(table)["resets"] == last
        assert measures.summarise(table.slice(0, 0))["resets"] is None
    declared = Declared.from_json(measures.as_json())
    assert (declared.summaries["resets"].unit, declared.headline) == ("count", measures.headline)


def test_runs_without_such_an_intervention_measure_what_they_did():
    (plain,) = runs_of("seed=0")
    assert "resets" not in measures_of(plain.targets).declared.summaries
    assert measures_of(plain.targets) is plain.component("agent").measures
