"""Recorded calls, by a recorder that computes on the CPU: the logic around CUDA graphs, which tests/cuda tries."""

from typing import NamedTuple

import pytest
import torch

from plasticity_lab.agents.compiled import FED_BYTES, Captured
from tests.helpers.recorded import recorded as recorded_call


class Trained(NamedTuple):
    weights: dict[str, torch.Tensor]
    state: dict[str, torch.Tensor]


def step(train, batch, measured, at):
    """Writes into weights and measured; of the state it passes one tensor on, and makes another anew."""
    weights = train.weights["w"]
    weights.sub_(batch["x"].sum() * train.state["age"])
    measured.index_copy_(0, at, weights.sum().view(1))
    return {"age": train.state["age"] + 1, "start": train.state["start"]}


class Recorded:
    """A step, and how often it was recorded."""

    def __init__(self):
        self.count = 0
        self.step = Captured(step, reads=(1, 3), recorder=self)

    def __call__(self, function, device):
        self.count += 1
        return recorded_call(function, device)


@pytest.fixture
def recorded():
    return Recorded()


class Pack:
    """What a learner keeps."""

    def __init__(self, function, size=3):
        self.function = function
        self.train = Trained({"w": torch.zeros(size)}, {"age": torch.ones(()), "start": torch.full((2,), 7.0)})
        self.measured = torch.zeros(100)
        self.taken = 0

    def take(self, x):
        at = torch.tensor([self.taken])
        state = self.function(self.train, {"x": torch.tensor(x)}, self.measured, at)
        self.train = self.train._replace(state=state)
        self.taken += 1
        return state["age"]


def same(one, other):
    return torch.equal(one.train.weights["w"], other.train.weights["w"]) and torch.equal(one.measured, other.measured)


def test_a_recorded_step_does_what_the_step_does(recorded):
    pack, plain = Pack(recorded.step), Pack(step)
    ages = [(pack.take([x, 1.0]), plain.take([x, 1.0])) for x in range(6)]
    assert same(pack, plain)
    assert all(torch.equal(*pair) for pair in ages), "what a call has returned is not written into by the next"
    assert recorded.count == 1


def test_what_the_step_passes_on_is_the_callers_own(recorded):
    pack = Pack(recorded.step)
    start = pack.train.state["start"]
    for x in range(4):
        pack.take([x, 1.0])
    assert pack.train.state["start"] is start


def test_parameters_that_begin_anew_are_met_where_they_lie_then(recorded):
    size = FED_BYTES // 4 + 1
    pack, plain = Pack(recorded.step, size), Pack(step, size)
    for x in range(8):
        if x == 5:
            for each in (pack, plain):
                each.train = each.train._replace(weights={"w": torch.ones(size)})
        for each in (pack, plain):
            each.take([x, 1.0])
    assert same(pack, plain)
    assert recorded.count == 2


def test_small_tensors_that_move_later_are_fed_and_copied_back(recorded):
    pack, plain = Pack(recorded.step), Pack(step)
    for x in range(8):
        for each in (pack, plain):
            if x > 3:
                each.train = each.train._replace(weights={"w": each.train.weights["w"].clone()})
            each.take([x, 1.0])
    assert same(pack, plain)
    assert recorded.count == 2


def test_what_a_replay_writes_counts_as_written(recorded):
    pack = Pack(recorded.step)
    for x in range(3):
        pack.take([x, 1.0])
    before = pack.train.weights["w"]._version
    with torch.no_grad():
        recorded.step._replay = lambda: {"age": torch.ones(()), "start": torch.ones(2)}  # as a GPU: nothing is counted
        pack.take([3.0, 1.0])
    assert pack.train.weights["w"]._version > before


def test_what_is_read_is_copied_once_for_as_long_as_it_stays(recorded):
    pack, plain, x = Pack(recorded.step), Pack(step), [torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([3.0])]
    for each in (pack, plain):
        for number, batch in enumerate([x[0], x[1], x[1], x[1], x[2], x[2]]):
            if number == 3:
                x[1].fill_(5.0)  # changed in place
            each.function(each.train, {"x": batch}, each.measured, torch.tensor([number]))
        x[1].fill_(2.0)
    assert same(pack, plain)
    copied, copy = [], torch.Tensor.copy_
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "copy_", lambda own, other: copied.append(other) or copy(own, other))
        pack.function(pack.train, {"x": x[2]}, pack.measured, torch.tensor([6]))
    assert not any(other is x[2] for other in copied)
