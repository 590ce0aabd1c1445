"""What diagnostics are shown, and what they may not do; that looking changes nothing, test_all.py says."""

import numpy as np
import pytest
import torch

from plasticity_lab.diagnostics.diagnostic import Diagnostic, columns_of, of_epochs
from plasticity_lab.diagnostics.dormant_units import DormantUnits
from plasticity_lab.diagnostics.saturated import Saturated
from plasticity_lab.errors import ConfigError, OwnClassError
from plasticity_lab.records.measures import Column, Measure
from tests.agents.ppo.packs import BOTH, there_are
from tests.helpers.looked_at import column, looked_at
from tests.helpers.sweeps import runs_of

SPLIT = ("benchmark=split_digits", "schedule=smoke", "benchmark.tasks=2")

DIGITS = ("benchmark=permuted_digits", "benchmark.images=101", "benchmark.tasks=2", "benchmark.epochs=2")


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    there_are(monkeypatch)


class Asked(Diagnostic):
    """Keeps what it was shown, in a list of the test."""

    def __init__(self, views: list) -> None:
        self.views = views

    def columns(self, units):
        return [of_epochs("asked", "Asked")]

    def look(self, view):
        self.views.append(view)
        return {"asked": torch.ones(len(view.seeds))}


def test_the_probe_is_fixed_for_a_task_and_the_held_out_images_are_the_tasks():
    views = []
    looked_at(list(runs_of(*DIGITS, "seed=0,1")), {"asked": Asked(views)})
    assert [(view.task, view.epoch) for view in views] == [(0, 0), (0, 1), (1, 2), (1, 3)]
    first, again, other, _ = (view.probe for view in views)
    assert first["x"].shape == (2, 100, 64), "nearly all of 101 images, in a multiple of 4"
    assert torch.equal(first["x"], again["x"])
    assert torch.equal(first["labels"], again["labels"])
    assert not torch.equal(first["x"], other["x"])
    ((x, labels),) = views[0].held_out(40)
    assert x.shape == (2, 40, 64)
    assert labels.shape == (2, 40)
    assert all(view.factor is None for view in views)


def test_rows_of_shocked_epochs_are_measured_under_the_factor_and_rows_of_tasks_never():
    """Every task ends with a shocked epoch. A task's row is the same by epochs, by tasks, and after a stop."""
    runs = list(runs_of(*DIGITS, "perturbation=shocks", "perturbation.factors=[3]", "perturbation.cycle=2"))

    def numbers(every, **how):
        members = {"saturated": Saturated(every), "dormant": DormantUnits(every, tau=0.5)}
        (own,) = looked_at(runs, members, **how)
        return own

    by_epochs, by_tasks, stopped = numbers(1), numbers("task"), numbers(1, stops=[4])
    for name in ("saturated", "dormant_units"):
        epochs, tasks = column(by_epochs, name, "epoch"), column(by_epochs, name, "task")
        assert (tasks != epochs[1::2]).any()
        assert np.array_equal(tasks, column(by_tasks, name, "task"))
        assert np.array_equal(tasks, column(stopped, name, "task"))


def test_of_ppo_the_probe_is_the_last_rollouts():
    views = []
    looked_at(list(runs_of(*BOTH, "seed=0,1")), {"asked": Asked(views)})
    assert [view.body for view in views[::3]] == ["sliders", "chosen", "sliders"]
    assert [view.epoch for view in views] == list(range(9)), "a rollout is an epoch"
    for view in views:
        assert view.probe["x"].shape[:2] == view.probe["advantage"].shape == (2, 32)
        assert view.held_out is None
        assert view.losses().shape == (2, 32)
        assert view.losses().isfinite().all()
    assert not torch.equal(views[0].probe["x"], views[1].probe["x"])


class Writes(Asked):
    """Writes into the network."""

    def look(self, view):
        next(iter(view.parameters.values())).mul_(1.5)
        return super().look(view)


class Mistaken(Asked):
    """Returns something else than its columns."""

    def __init__(self, returned) -> None:
        self.returned = returned

    def look(self, view):
        return self.returned


@pytest.mark.parametrize(
    ("diagnostic", "told"),
    [
        (Writes([]), "hidden1.weight"),
        (Mistaken({"other": torch.ones(2)}), "other"),
        (Mistaken({"asked": torch.ones(3)}), "(3,)"),
        (Mistaken({"asked": 1.0}), "1.0"),
        (Mistaken(None), "None"),
    ],
)
def test_a_diagnostic_that_breaks_its_promise_is_named(diagnostic, told):
    with pytest.raises(OwnClassError, match="diagnostics=mine") as raised:
        looked_at(list(runs_of(*DIGITS, "seed=0,1")), {"mine": diagnostic})
    assert told in str(raised.value)


def test_columns_of_other_sorts_and_of_one_name_are_refused():
    class OfUpdates(Asked):
        def columns(self, units):
            return [Column(Measure("asked", "Asked"), "asked", {"epoch": "mean"})]

    with pytest.raises(ConfigError, match=r"diagnostics=mine.*asked.*of_epochs"):
        columns_of({"mine": OfUpdates([])}, [])
    with pytest.raises(ConfigError, match=r"diagnostics=second.*asked.*diagnostics=first"):
        columns_of({"first": Asked([]), "second": Asked([])}, [])
