"""Step counts of a pack with a run that has changed its network."""

from types import SimpleNamespace

import numpy as np
import torch

from plasticity_lab.agents.network_change import NetworkChange
from plasticity_lab.agents.step_counts import StepCounts
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.run_axis import on_run_axis

ADAM = Adam()
SETTINGS = on_run_axis([ADAM, ADAM], dtype=torch.float64)


def counts_of(*at: int) -> StepCounts:
    change = NetworkChange.__new__(NetworkChange)
    change.model, change.at, change.gate = SimpleNamespace(), np.array(at), "frozen.gate"
    return StepCounts(change)


def counted(counts: StepCounts, updates: int, steps: int, body: str | None = None, prefix: str = "") -> list[list]:
    """The step counts of parameters that start again, by run."""
    rows = counts.corrections(ADAM, SETTINGS, body, updates, steps)
    return rows[f"change.{prefix}count"].T.tolist()


def test_after_its_change_a_run_counts_from_one():
    counts = counts_of(3, 100)
    assert counted(counts, 0, 6) == [[1, 2, 3, 1, 2, 3], [1, 2, 3, 4, 5, 6]], "a change within the steps"
    counts.took(3, None)
    counts.changed(np.array([True, False]))
    assert counted(counts, 3, 2) == [[1, 2], [4, 5]]
    counts.took(2, None)
    resumed = counts_of(3, 100)
    resumed.load(counts.state())
    for each in (counts, resumed):
        assert counted(each, 5, 2) == [[3, 4], [6, 7]]
        plain = each.corrections(ADAM, SETTINGS, None, 5, 1)
        assert plain["size"].equal(ADAM.corrections(SETTINGS, 6, 1)["size"]), "other parameters go on"
        each.reset()
        assert counted(each, 5, 2) == [[1, 2], [1, 2]]


def test_the_parameters_of_an_environment_count_its_own_updates():
    counts = counts_of(3, 100)
    counts.took(2, "ant")
    counts.took(1, "walker")
    counts.changed(np.array([True, False]))
    counts.took(4, "ant")
    assert counted(counts, 7, 1, "ant", "body.") == [[5], [7]]
    assert counted(counts, 7, 1, "walker", "body.") == [[1], [2]]
    counts.reset_active("ant")
    assert counted(counts, 7, 1, "ant", "body.") == [[1], [1]]
    assert counted(counts, 7, 1, "walker", "body.") == [[1], [2]]
