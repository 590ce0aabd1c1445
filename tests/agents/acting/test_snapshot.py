import torch

from plasticity_lab.agents.acting.snapshot import Snapshot
from plasticity_lab.agents.update import TrainState


def train_state():
    return TrainState({"w": torch.ones(3, 2)}, {"first": {"w": torch.zeros(3, 2)}}, {"kept": torch.full((3,), 5.0)})


def test_runs_that_are_restored_have_their_numbers_of_then_and_their_mates_do_not():
    now = train_state()
    snapshot = Snapshot(now)
    for value in (now.parameters["w"], now.moments["first"]["w"], now.state["kept"]):
        value += 1
    now.moments["first"]["w"][2, 1] = torch.nan
    assert snapshot.finite(now).tolist() == [True, True, False]
    snapshot.restore(now, ~snapshot.finite(now))
    assert now.parameters["w"].tolist() == [[2, 2], [2, 2], [1, 1]]
    assert now.moments["first"]["w"].tolist() == [[1, 1], [1, 1], [0, 0]]
    assert now.state["kept"].tolist() == [6, 6, 5]


def test_large_numbers_are_finite_though_their_sum_is_not():
    now = train_state()
    now.parameters["w"][0] = 3e38
    now.parameters["w"][1, 0] = torch.inf
    now.parameters["w"][2] = torch.tensor([torch.inf, -torch.inf])
    assert Snapshot(now).finite(now).tolist() == [True, False, False]
