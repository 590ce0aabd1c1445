"""Agents that act, on a GPU: packed, alone and resumed they are the same, eager and compiled."""

import pytest
import torch

from plasticity_lab.agents.acting import sending
from plasticity_lab.agents.acting.frames import DeviceRing, frames_for
from tests.agents.ppo.packs import ONE, there_are
from tests.agents.sac.packs import SMALL as SAC
from tests.agents.sac.pixels import WORDS as SAC_ON_IMAGES
from tests.agents.value.packs import BY_AGENT
from tests.helpers.first_steps import EXPERTS, PIXELS
from tests.tenants.packs import differing, hold, packs_of, trained

NO_GPU = "torch can use no GPU here (torch.cuda.is_available() is false); these tests need one."
pytestmark = [pytest.mark.cuda, pytest.mark.skipif(not torch.cuda.is_available(), reason=NO_GPU)]
GPU = torch.device("cuda")
SHORT = ("benchmark.tasks=1", "benchmark.environment_steps=160")
ARMS = {
    "dqn": (*BY_AGENT["dqn"], *SHORT),
    "rainbow": (*BY_AGENT["rainbow"], *SHORT, "intervention=redo", "intervention.every=5"),
    "der with experts": (*BY_AGENT["der"], *SHORT, *PIXELS, "head=softmoe", "head.experts=2"),
    "rainbow_lite on pixels": (*BY_AGENT["rainbow_lite"], *SHORT, *PIXELS, "activation=rrelu"),
    "token choice": (*BY_AGENT["rainbow_lite"], *SHORT, *PIXELS, "head=token_choice", "head.experts=4"),
    "shuffled tokens": (*BY_AGENT["rainbow_lite"], *SHORT, *PIXELS, *EXPERTS, "network.tokens=shuffled"),
    "impala": (*BY_AGENT["rainbow"], *SHORT, "network=small_impala", "network.hidden=8"),
    "ppo": (*ONE, "benchmark.environment_steps=96", "agent.max_norm=0.5"),
    "sac": SAC,
    "sac on images": SAC_ON_IMAGES,
    "ppo with l2_init": (*ONE, "benchmark.environment_steps=96", "intervention=l2_init", "activation=rrelu"),
}


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    there_are(monkeypatch)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("arm", ARMS)
def test_packed_alone_and_resumed_are_the_same(arm, compiled):
    hold(*ARMS[arm], "seed=3,1,0", compiled=compiled, device=GPU, stops=[1])


@pytest.mark.parametrize("arm", ["rainbow_lite on pixels", "sac on images"])
def test_frames_on_the_gpu_change_no_number(monkeypatch, arm):
    pack, seen = packs_of(*ARMS[arm], "seed=3,1,0"), []
    monkeypatch.setattr(sending, "frames_for", lambda *how: seen.append(frames_for(*how)) or seen[-1])
    found = trained(pack, device=GPU)
    assert isinstance(seen[0], DeviceRing)
    monkeypatch.setattr(sending, "free_on", lambda *_: 0)
    others = trained(pack, device=GPU)
    assert not isinstance(seen[1], DeviceRing)
    assert not [name for own, other in zip(found, others, strict=True) for name in differing(own, other)]
