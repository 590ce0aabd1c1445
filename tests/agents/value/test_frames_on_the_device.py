"""Packs with frames on the device, or sent once with a batch, learn the same numbers; here by tensors of a CPU."""

import pytest

from plasticity_lab.agents.acting.frames import DeviceRing
from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.assembly import cost_of
from tests.agents.sac.pixels import WORDS as SAC_ON_IMAGES
from tests.agents.value.packs import BY_AGENT, DQN
from tests.agents.value.test_compressed_frames import NATURE, PIXELS
from tests.helpers.crossings import send
from tests.helpers.sweeps import runs_of
from tests.tenants.packs import differing, hold, packs_of, trained

SHORT = ("benchmark.tasks=1", "benchmark.test_episodes=0")
ARMS = {
    "boards": (*BY_AGENT["rainbow_lite"], *SHORT, "benchmark.environment_steps=200", "seed=3,1,0"),
    "a second batch": (
        *BY_AGENT["dqn"], *SHORT, "benchmark.environment_steps=120", "intervention=c_chain_dqn", "seed=3,1,0",
    ),
    "frames of games": (*PIXELS, *SHORT, "benchmark.environment_steps=150", "agent.n_step=1"),
    "sac on images": (*SAC_ON_IMAGES, "seed=3,1"),
}  # fmt: skip


def sent_by(monkeypatch, way):
    """All memories send their batches in that way.  Returns these memories."""
    made = []

    def sender(memory, device):
        if memory._sender is None:
            send(memory, way)
            made.append(memory)
        return memory._sender

    monkeypatch.setattr(Memory, "_sender_to", sender)
    return made


@pytest.mark.parametrize("arm", [*list(ARMS)[:-1], pytest.param("sac on images", marks=pytest.mark.slow)])
def test_the_numbers_are_those_of_the_host_packed_alone_and_resumed(monkeypatch, arm):
    runs = packs_of(*ARMS[arm])
    wanted = trained(runs)
    for way in ("ring", "distinct"):
        with monkeypatch.context() as patched:
            memories = sent_by(patched, way)
            found = hold(*ARMS[arm], stops=[1]) if way == "ring" else trained(runs)
            assert memories
            assert all(isinstance(memory._sender.frames, DeviceRing) == (way == "ring") for memory in memories)
        assert not [name for own, other in zip(wanted, found, strict=True) for name in differing(own, other)]


def test_plans_know_the_bytes_of_frames_on_a_gpu():
    (run,) = packs_of(*NATURE)
    outline = run.component("benchmark").outline()
    assert cost_of(run, outline).frames_bytes == cost_of(run, outline, "never").frames_bytes == 1_000_000 * 84 * 84
    (numbers,) = runs_of(*DQN, "benchmark=classic_cycle")
    assert cost_of(numbers, numbers.component("benchmark").outline()).frames_bytes == 0, "they are no pixels"
