"""A step of every agent with every intervention on meta tensors: it asks the host for nothing, and is given nothing."""

import pytest
import torch
from torch.utils._pytree import tree_map

from launch.runs.desk import Misfit
from plasticity_lab.component import load
from tests.agents.ppo.packs import ONE, there_are
from tests.agents.sac.packs import SMALL as SAC
from tests.agents.sac.pixels import WORDS as SAC_ON_IMAGES
from tests.agents.value.packs import BY_AGENT
from tests.helpers.first_steps import EXPERTS, PIXELS, first_steps
from tests.helpers.on_meta import FromTheHost, OnTheDevice
from tests.helpers.packs import choice, choices

LABELLED = ("benchmark=permuted_digits", "benchmark.tasks=1", "network.width=16", "activation=rrelu")
HEADS = ("flatten", "average", "softmoe", "expert_choice", "token_choice")
TOKENS = ("per_conv", "per_feat", "per_patch", "per_sample", "shuffled")


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    there_are(monkeypatch)


def on_meta(step, arguments):
    there = tree_map(lambda value: value.to("meta") if isinstance(value, torch.Tensor) else value, arguments)
    step(*there)  # what is made once is there after it
    with OnTheDevice():
        step(*there)


NOT_WITH_EXPERTS = {"feature_norm", "infer", "nap", "plasticity_injection"}
NEEDS_A_NORM = {"nap"}


def refused(words, intervention):
    """Whether the agent lacks what it requires, there are no experts for it, or its layers are not those it needs."""
    named = [word.removeprefix("agent=") for word in words if word.startswith("agent=")]
    provided = load(choice("agent", named[0] if named else "supervised")[0]).provides
    of = load(choice("intervention", intervention)[0])
    of_experts, in_one = EXPERTS[0] in words, words[:-1] == SAC_ON_IMAGES  # whose network has no halves
    lacking = not of.requires <= provided or (of.unit_kind == "expert" and not of_experts)
    lacking |= intervention in NEEDS_A_NORM or (in_one and intervention == "plasticity_injection")
    return lacking or (of_experts and intervention in NOT_WITH_EXPERTS)


@pytest.mark.walk(4)
@pytest.mark.parametrize("intervention", choices("intervention"))
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(LABELLED, id="supervised"),
        pytest.param((*BY_AGENT["rainbow"], *PIXELS, *EXPERTS), id="rainbow with experts"),
        pytest.param((*BY_AGENT["dqn"], *PIXELS, *EXPERTS), id="dqn with experts", marks=pytest.mark.slow),
        pytest.param(ONE, id="ppo"),
        pytest.param(SAC, id="sac", marks=pytest.mark.slow),
        pytest.param(SAC_ON_IMAGES, id="sac on images"),
    ],
)
def test_with_every_intervention(words, intervention):
    words = (*words, f"intervention={intervention}")
    if refused(words, intervention):
        with pytest.raises(Misfit):
            first_steps(on_meta, *words)
    else:
        first_steps(on_meta, *words)


@pytest.mark.walk(2)
@pytest.mark.parametrize("agent", BY_AGENT)
@pytest.mark.parametrize("head", HEADS)
def test_with_every_head(agent, head):
    first_steps(on_meta, *BY_AGENT[agent], *PIXELS, f"head={head}")


@pytest.mark.walk(1)
@pytest.mark.parametrize("tokens", TOKENS)
def test_with_every_sort_of_tokens(tokens):
    first_steps(on_meta, *BY_AGENT["rainbow"], *PIXELS, *EXPERTS, f"network.tokens={tokens}")


def test_a_tensor_of_the_host_is_noticed():
    x, index = torch.ones(3, device="meta"), torch.zeros(2, dtype=torch.int64)
    for operation in (lambda: x + torch.ones(3), lambda: x.index_select(0, index), lambda: x.copy_(torch.ones(3))):
        with OnTheDevice(), pytest.raises(FromTheHost):
            operation()
    with OnTheDevice(), pytest.raises(RuntimeError):
        x.sum().item()
