"""Packs that diagnostics look at while they are trained by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from plasticity_lab.agents.observed import Observed
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.assembly import agent_of, model_of, resources
from plasticity_lab.diagnostics.diagnostic import Diagnostic, columns_of
from plasticity_lab.records.bulk import as_tensors, filled_from
from plasticity_lab.records.journal import Journal
from plasticity_lab.run import Run
from plasticity_lab.trainer import train
from tests.helpers.packs import CPU, Interrupted, Keeper, restored, saved


def looked_at(
    runs: Sequence[Run],
    diagnostics: Mapping[str, Diagnostic],
    *,
    compiled: bool = False,
    kernels: bool = False,
    stops: Sequence[int] = (),
) -> list[dict[str, list]]:
    """All numbers of each run: its columns, rows as they stand in its table, and its weights.

    stops: looks of the keeper at which the pack is stopped, and resumed from its checkpoint.
    """
    resource, kept = resources(Path())(runs[0]), None
    model = model_of(runs, resource)
    diagnostics = {name: each for name, each in diagnostics.items() if each.applies_to(model)}
    columns = columns_of(diagnostics, model.units)
    agent = agent_of(runs[0])
    measures = agent.measures.with_columns(columns)
    for looks in [*stops, None]:
        parts = parts_of(runs, kernels=kernels, observed=bool(diagnostics))
        stream, learner = agent.learner(parts, resource, CPU, compiled)
        learner = Observed(learner, diagnostics, columns, len(runs)) if diagnostics else learner
        journal = Journal(len(runs), measures)
        if kept is not None:
            state = restored(kept)
            learner.load(state["learner"], filled_from(learner.bulk(), state["bulk"]))
            journal.load(state["journal"])
        try:
            train(stream, learner, journal, Keeper(looks))
        except Interrupted:
            kept = saved({"learner": learner.state(), "bulk": as_tensors(learner.bulk()), "journal": journal.state()})
        else:
            assert looks is None, "the pack ended before it was stopped"
    weights = learner.weights()
    return [
        {**_columns(journal, k), **{name: value[k].flatten().tolist() for name, value in weights.items()}}
        for k in range(len(runs))
    ]


def differing(one: Mapping[str, list], other: Mapping[str, list]) -> list[str]:
    """The names that both have, under which the numbers are not the same bits."""
    shared = one.keys() & other.keys()
    assert shared
    return [name for name in sorted(shared) if repr(one[name]) != repr(other[name])]


def _columns(journal: Journal, k: int) -> dict[str, list]:
    table = journal.table(k)
    return {name: table[name].to_pylist() for name in table.column_names}


def column(found: Mapping[str, list], name: str, kind: str) -> np.ndarray:
    """The values of a column in rows of that kind, NaN where a row has none."""
    rows = zip(found["kind"], found[name], strict=True)
    return np.array([value for of, value in rows if of == kind], dtype=float)
