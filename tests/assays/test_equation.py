"""The one equation for copies: packed = alone = resumed, bit for bit, and runs do not notice their assays."""

import numpy as np
import pytest

from plasticity_lab.assays.fresh_labels import FreshLabels
from plasticity_lab.assays.next_task import NextTask
from plasticity_lab.assays.teacher import Teacher
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.store import Store
from tests.helpers.assays import FEW, aged, begun, learned, setup
from tests.helpers.packs import needs_compiler, needs_kernels, restored, saved
from tests.helpers.sweeps import kept, trained

MODES = {
    "eager": {},
    "kernels": {"compiled": True, "kernels": True},
    "compiled": {"compiled": True},
}


def differing(one, other):
    return [name for name in one if one[name].tobytes() != other[name].tobytes()]


def copies_of(found, run, copies=4):
    """The copies of one run of a pack."""
    return {name: np.ascontiguousarray(values[:, run * copies : (run + 1) * copies]) for name, values in found.items()}


@pytest.mark.parametrize("kind", [FreshLabels, NextTask, Teacher])
@pytest.mark.parametrize("own", [{}, {"activation": "rrelu"}, {"network": {"width": 13, "norm": "batch"}}],
                         ids=["relu", "rrelu", "batch norm"])  # fmt: skip
def test_copies_in_a_pack_learn_as_alone_and_resumed(kind, own):
    packed, alone = setup(kind(**FEW), (0, 1, 2), **own), setup(kind(**FEW), (1,), **own)
    parameters = aged(packed)
    single = {name: value[1:2] for name, value in parameters.items()}
    whole = learned(begun(packed, parameters))
    assert not differing(copies_of(whole, 1), copies_of(learned(begun(alone, single)), 0))
    stopped = begun(packed, parameters)
    stopped.train(3)
    stopped.measure()
    state = restored(saved(stopped.state()))
    resumed = begun(packed, parameters)
    resumed.load(state)
    assert not differing(whole, learned(resumed))


@needs_compiler
@needs_kernels
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["kernels", "compiled"])
@pytest.mark.parametrize("kind", [FreshLabels, Teacher])
def test_so_they_are_compiled(kind, mode):
    packed, alone = setup(kind(**FEW), (0, 1, 2), **MODES[mode]), setup(kind(**FEW), (1,), **MODES[mode])
    parameters = aged(packed)
    single = {name: value[1:2] for name, value in parameters.items()}
    whole = learned(begun(packed, parameters))
    assert not differing(copies_of(whole, 1), copies_of(learned(begun(alone, single)), 0))


SHORT = ("assay.steps=6", "assay.batch_size=8", "assay.examples=24", "assay.repetitions=2", "assay.points=2")


def test_a_run_with_assays_has_the_same_numbers_and_id(tmp_path):
    plain, tried = Store(tmp_path / "plain"), Store(tmp_path / "tried")
    words = ("seed=0,1", "benchmark.steps=20", "save_weights=final")
    runs = list(trained(plain, *words).runs)
    plan = trained(tried, *words, "assay=[fresh_labels,teacher]", *SHORT, "assay.every=2")
    assert list(plan.runs) == runs
    for run in runs:
        before, now = read_metrics(plain, run), read_metrics(tried, run)
        assert now.select(before.column_names).equals(before)
        assert now.num_columns > before.num_columns
        tasks = [row for row in now.to_pylist() if row["kind"] == "task"]
        reasons = [row["fresh_labels_undefined"] for row in tasks]
        assert reasons == [4.0, 0.0, 4.0], "tried after each second task"
        assert tasks[1]["teacher_loss_gap"] is not None
        record = read_record(tried, run)
        assert record["summary"]["taoa"] == read_record(plain, run)["summary"]["taoa"]
        assert kept(tried, run).weights == kept(plain, run).weights
