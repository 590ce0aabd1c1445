"""Batches through pinned memory: the same content as without, and no memory is written before it is copied."""

import numpy as np
import pytest
import torch

from plasticity_lab.agents.acting import frames, sending
from plasticity_lab.agents.acting import memory as of_memory
from plasticity_lab.agents.acting.crossing import SETS, Crossing, Mark
from plasticity_lab.agents.acting.frames import DeviceRing, DistinctFrames
from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.acting.sending import SETTLED, Sender
from plasticity_lab.agents.value.settings import ValueSettings
from plasticity_lab.environments.environments import Environments
from plasticity_lab.kernels import replay as kernel
from tests.helpers.crossings import NOTES, WAYS, noted_crossing, send
from tests.helpers.made_up_bodies import EMULATOR
from tests.helpers.packs import CPU


@pytest.fixture
def crossing():
    NOTES.clear()
    return noted_crossing()


def test_memory_is_used_in_turn_and_only_when_the_device_has_copied_it(crossing):
    sent = []
    for number in range(3 * SETS):
        crossing.begin()
        array = crossing.array("x", (2, 3), np.float32)
        array[...] = number
        sent.append(crossing.sent({"x": array, "y": np.arange(4)[::-1]}))
        assert sent[-1]["x"].numpy().ctypes.data == array.ctypes.data, "an array of its own is not copied again"
        assert sent[-1]["y"].tolist() == [3, 2, 1, 0]
    order = [(number + 1) % SETS for number in range(3 * SETS)]
    assert NOTES[SETS:] == [note for at in order for note in (f"waited for {at}", f"recorded {at}")]
    assert [float(batch["x"][0, 0]) for batch in sent[-SETS:]] == [3 * SETS - 2, 3 * SETS - 1]
    assert len({batch["x"].data_ptr() for batch in sent}) == SETS


def test_a_mark_is_set_in_the_work_of_its_own_gpu(monkeypatch):
    """Not in the work of the process's current one: then no memory would wait for its copy."""
    marked = []

    class Event:
        def record(self, stream="of the current GPU"):
            marked.append(stream)

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: f"of {device}")
    Mark(torch.device("cuda", 3)).record()
    assert marked == ["of cuda:3"]
    assert {type(mark) for mark in Crossing(torch.device("cuda", 3))._copied} == {Mark}


def test_memory_grows_with_its_entry(crossing):
    for count in (4, 9, 2):
        crossing.begin()
        crossing.array("x", (count,), np.float64)[...] = count
        assert crossing.sent({"x": crossing.array("x", (count,), np.float64)})["x"].tolist() == [count] * count


@pytest.mark.parametrize("is_used", [False, True], ids=["numpy", "kernel"])
@pytest.mark.parametrize("compressed", ["never", "always"])
@pytest.mark.parametrize(("replay", "batch"), [("uniform", 8), ("prioritised", 8), ("prioritised", 5)])
@pytest.mark.parametrize("way", WAYS)
def test_a_batch_is_the_same_through_it(way, monkeypatch, is_used, compressed, replay, batch):
    if is_used:
        kernel.expect()
    monkeypatch.setattr(kernel, "is_used", lambda: is_used)
    agent = ValueSettings(replay=replay, batch=batch, environments=2, capacity=60, min_history=4, n_step=2)
    memory = Memory(agent, [EMULATOR], [3, 4], agent.capacity, np.array([0.9, 0.8]), compressed)
    environments, draw = Environments(EMULATOR, [3, 4], 2, 0), np.random.default_rng(0)
    for step in range(50):
        frame, first, action = (
            EMULATOR.newest(environments.observations),
            environments.first,
            draw.integers(2, size=(2, 2)),
        )
        outcome = environments.step(action)
        memory.add(
            frame=frame, action=action, reward=outcome.rewards, terminated=outcome.terminated,
            truncated=outcome.truncated, life_lost=outcome.life_lost, first=first,
        )  # fmt: skip
        if step > 20 and step % 5 == 0:
            index = memory.drawn(step)
            plain = memory.batch(index, CPU)
            send(memory, way)
            through, second = memory.batch(index, CPU), memory.second(step, CPU)
            send(memory, "")
            assert torch.equal(second, memory.second(step, CPU))
            assert plain.keys() == through.keys()
            for name, value in plain.items():
                assert torch.equal(value, through[name])
                assert value.dtype == through[name].dtype


@pytest.mark.parametrize(("free", "kind"), [(320, DeviceRing), (319, DistinctFrames)])
def test_batches_for_a_gpu_go_through_it(monkeypatch, free, kind):
    """And only these: those of a CPU are the arrays that were drawn. Frames follow when the need of memory is known."""
    made = []
    monkeypatch.setattr(
        of_memory, "Sender", lambda *how: made.append(how) or Sender(*how[:3], CPU, how[4], noted_crossing)
    )
    monkeypatch.setattr(sending, "free_on", lambda device, sharing: {3: free}[sharing])
    monkeypatch.setattr(frames, "DeviceRing", lambda ring, device: DeviceRing(ring, device, noted_crossing))
    agent = ValueSettings(capacity=40, min_history=4, batch=8)
    memory = Memory(agent, [EMULATOR], [0], 40, np.array([0.9]), sharing=3)
    for step in range(30):
        flags = {name: np.zeros((1, 1), bool) for name in ("terminated", "truncated", "life_lost", "first")}
        frame = np.full((1, 1, *EMULATOR.frame), step, np.uint8)
        memory.add(frame=frame, action=np.zeros((1, 1), int), reward=np.zeros((1, 1)), **flags)
    plain = [memory.batch(memory.drawn(update), CPU) for update in range(6)]
    assert memory._sender is None
    monkeypatch.setattr(torch.Tensor, "to", lambda self, *_, **__: self)
    for update, wanted in enumerate(plain):
        found = memory.batch(memory.drawn(update), torch.device("cuda"))
        assert all(torch.equal(value, found[name]) for name, value in wanted.items())
        assert isinstance(memory._sender.frames, kind if update + 1 >= SETTLED else type(None))
    assert len(made) == 1
