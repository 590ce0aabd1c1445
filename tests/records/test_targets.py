"""Two classes under one option name share run ids: what one of them left must not pass for the other's."""

import pytest

from launch.packs.todo import outstanding
from plasticity_lab.component import Component
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.record import new_record, read_record, write_metrics, write_record
from plasticity_lab.records.targets import check_targets, run_of
from plasticity_lab.run import Run
from tests.helpers.sweeps import runs_of, trained

OURS = "plasticity_lab.activations.relu.ReLU"


class AnotherReLU(Component):
    """What somebody else calls relu."""


THEIRS = f"{__name__}.AnotherReLU"


def a_run(target):
    return Run("0" * 12, {"activation": {"name": "relu"}, "seed": 0}, {"activation": target}, [])


def test_a_record_of_another_class_is_no_record_of_the_run(store):
    write_metrics(store, "0" * 12, CLASSIFIER.schema.empty_table())
    write_record(store, new_record(a_run(THEIRS), "done", {}))
    with pytest.raises(ConfigError, match=rf"activation=relu of the class {THEIRS}.*is {OURS}.*store="):
        outstanding(store, [a_run(OURS)], False, 2)
    assert outstanding(store, [a_run(THEIRS)], False, 2).finished == ["0" * 12]
    store.metrics("0" * 12).write_bytes(b"")
    with pytest.raises(ConfigError, match=r"store="):
        outstanding(store, [a_run(OURS)], False, 2)
    assert outstanding(store, [a_run(THEIRS)], False, 2).corrupt


def test_a_class_of_ours_that_has_moved_is_the_same_one():
    moved = new_record(a_run("plasticity_lab.activations.somewhere_else.ReLU"), "done", {})
    check_targets(a_run(OURS), moved)
    with pytest.raises(ConfigError):
        check_targets(a_run("gone.away.ReLU"), moved)


def test_a_record_leads_back_to_its_run(store):
    trained(store, "seed=3")
    (run,) = runs_of("seed=3")
    assert run_of(read_record(store, run.id)) == (run, False)
