"""Several steps in one launch, by a recorder that computes on the CPU; tests/cuda tries them on a GPU."""

import pytest
import torch
from torch.utils._pytree import tree_map

from plasticity_lab.agents.compiled import Captured, Compiled
from plasticity_lab.agents.supervised.learner import SupervisedLearner
from plasticity_lab.agents.supervised.several import READS, STEPS, several
from tests.helpers.first_steps import first_steps
from tests.helpers.on_meta import OnTheDevice
from tests.helpers.packs import choice, differing, images, run, trained
from tests.helpers.recorded import recorded

IMAGES = images(8, 700, 45)
MANY = {"tasks": 2, "images": 700, "batch_size": 16}  # 44 steps of a task, the last one with fewer images
REPLAY = choice("agent", "experience_replay")
REPLAYED = {"agent": ("experience_replay", *REPLAY), "benchmark": "split_digits", "tasks": 2, "batch_size": 4}
REPLAYED |= {"classes_per_task": 2, "images_per_class": 48, "normalise": "raw"}  # 24 steps of a task
REDO_TARGET, REDO = choice("intervention", "redo")
CASES = {  # settings, and launches of two tasks
    "plain": (MANY, 2 * 2),
    "moments that are reset": ({**MANY, "optimizer": {"reset": "task"}}, 2 * 2),
    "a state that each step changes": ({**MANY, "intervention": choice("intervention", "c_chain")}, 2 * 2),
    "work after every 20 steps": ({**MANY, "intervention": (REDO_TARGET, {**REDO, "every": 20})}, 2 * 2),
    "work after every 10 steps": ({**MANY, "intervention": (REDO_TARGET, {**REDO, "every": 10})}, 0),
    "transitions": ({**MANY, "transition_steps": 20}, 2),  # into the second task
    "replayed images": (REPLAYED, 2),
}


@pytest.fixture
def launches(monkeypatch):
    """Learners take several steps at a time, as on a GPU; a number for each launch."""
    made, take = [], SupervisedLearner._take

    def taking(self, *arguments):
        if self.several is None:
            captured = Captured(several(self.step), READS, recorded)
            self.several = lambda *given: made.append(int(given[-1])) or captured(*given)
        return take(self, *arguments)

    monkeypatch.setattr(SupervisedLearner, "_take", taking)
    return made


def pack(own, **how):
    runs = [run(seed, "rrelu", **{**own, "network": {"width": 12}}) for seed in range(2)]
    return trained(runs, IMAGES, **how)


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_are_those_of_single_steps(name, launches, monkeypatch):
    """To the bit; single steps are left for the rest, and where the host works between steps or tasks mix."""
    own, count = CASES[name]
    at_once = pack(own)
    assert len(launches) == count
    monkeypatch.undo()
    single = pack(own)
    for k in range(2):
        assert not differing(at_once.of(k), single.of(k))


def test_a_pack_that_is_resumed_within_a_task_gets_the_same_numbers(launches, monkeypatch):
    monkeypatch.setattr("plasticity_lab.agents.supervised.learner.CHUNK_STEPS", 40)
    monkeypatch.setattr("plasticity_lab.benchmarks.labelled.stream.CHUNK_STEPS", 40)
    whole, resumed = pack(MANY), pack(MANY, stops=[1, 2])
    assert launches[:2] == [0, STEPS]
    for k in range(2):
        assert not differing(whole.of(k), resumed.of(k))


def test_a_function_around_a_graph_calls_it(monkeypatch):
    monkeypatch.setattr("plasticity_lab.agents.graphs.graph_of", lambda function, same, arguments: function)
    twice = Compiled(lambda x: x + 1, around=lambda graph: lambda x: graph(graph(x)))
    assert [twice(torch.tensor(value)).item() for value in (3, 4)] == [5, 6]


def test_on_meta_tensors_they_ask_the_host_for_nothing():
    def on_meta(step, arguments):
        there = tree_map(lambda value: value.to("meta") if isinstance(value, torch.Tensor) else value, arguments)
        step(*there)  # what is made once is there after it
        with OnTheDevice():
            several(step)(*there)

    first_steps(on_meta, "benchmark=permuted_digits", "benchmark.tasks=1", "network.width=16", "activation=rrelu")
