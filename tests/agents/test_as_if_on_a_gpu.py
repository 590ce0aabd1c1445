"""A step of every agent with every intervention on meta tensors: it asks the host for nothing, and is given nothing."""

import collections

import pytest
import torch
from torch.utils._pytree import tree_map

from plasticity_lab.assembly import assembled, resources
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.position import Position
from tests.agents.ppo.packs import ONE, there_are
from tests.agents.sac.packs import SMALL as SAC
from tests.agents.value.packs import BY_AGENT
from tests.helpers.on_meta import FromTheHost, OnTheDevice
from tests.helpers.packs import CPU, choices
from tests.tenants.packs import Path, packs_of

PIXELS = (
    "benchmark.tasks=1",
    "benchmark.stack=2",
    "network=small_nature",
    "network.hidden=8",
    "network.width=1",
    "agent.capacity=90",
    "agent.min_history=40",
)
LABELLED = ("benchmark=permuted_digits", "benchmark.tasks=1", "network.width=16", "activation=rrelu")
HEADS = ("flatten", "average", "softmoe", "expert_choice", "token_choice")
TOKENS = ("per_conv", "per_feat", "per_patch", "per_sample", "shuffled")
EXPERTS = "head=softmoe", "head.experts=4"


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    there_are(monkeypatch)


class Taken(Exception):
    """A step was taken on meta tensors."""


def on_meta(function, goes_on=False):
    def step(*arguments):
        there = tree_map(lambda value: value.to("meta") if isinstance(value, torch.Tensor) else value, arguments)
        function(*there)  # what is made once is there after it
        with OnTheDevice():
            function(*there)
        result = function(*arguments)  # as on a CPU, too
        if goes_on:
            return result
        raise Taken

    return step


def first_step(*words):
    """Takes the first step of a pack of two; what is refused in a sentence, is refused."""
    try:
        runs = packs_of(*words, "seed=0,1")
        stream, learner = assembled(runs, resources(Path())(runs[0]), CPU, compiled=False)
    except ConfigError:
        return
    task = stream.task(0)
    learner.begin(task, fresh=True)
    if hasattr(learner, "_steps"):
        learner._steps = {name: on_meta(step) for name, step in learner._steps.items()}
    elif hasattr(learner, "critics_step"):
        learner.critics_step = on_meta(learner.critics_step, goes_on=True)
        learner.actor_step = on_meta(learner.actor_step)
    else:
        learner.step = on_meta(learner.step)
    with pytest.raises(Taken):
        collections.deque(map(learner.advance, task.chunks(Position(0, 0))), maxlen=0)


@pytest.mark.parametrize("intervention", choices("intervention"))
@pytest.mark.parametrize(
    "words",
    [LABELLED, (*BY_AGENT["rainbow"], *PIXELS, *EXPERTS), (*BY_AGENT["dqn"], *PIXELS, *EXPERTS), ONE, SAC],
    ids=["supervised", "rainbow with experts", "dqn with experts", "ppo", "sac"],
)
def test_with_every_intervention(words, intervention):
    first_step(*words, f"intervention={intervention}")


@pytest.mark.parametrize("agent", BY_AGENT)
@pytest.mark.parametrize("head", HEADS)
def test_with_every_head(agent, head):
    first_step(*BY_AGENT[agent], *PIXELS, f"head={head}")


@pytest.mark.parametrize("tokens", TOKENS)
def test_with_every_sort_of_tokens(tokens):
    first_step(*BY_AGENT["rainbow"], *PIXELS, *EXPERTS, f"network.tokens={tokens}")


def test_a_tensor_of_the_host_is_noticed():
    x, index = torch.ones(3, device="meta"), torch.zeros(2, dtype=torch.int64)
    for operation in (lambda: x + torch.ones(3), lambda: x.index_select(0, index), lambda: x.copy_(torch.ones(3))):
        with OnTheDevice(), pytest.raises(FromTheHost):
            operation()
    with OnTheDevice(), pytest.raises(RuntimeError):
        x.sum().item()
