"""Frames on the device, or sent with a batch: batches have the bits of the host's ring, and of plain Python."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from plasticity_lab.agents.acting import frames
from plasticity_lab.agents.acting.frames import STAGED, DeviceRing, DistinctFrames, frames_for
from plasticity_lab.agents.acting.memory import Memory
from plasticity_lab.agents.cost import FRAMES_SHARE
from plasticity_lab.agents.value.settings import ValueSettings
from plasticity_lab.kernels import replay as kernel
from plasticity_lab.records.bulk import as_tensors, filled_from
from plasticity_lab.replay.ring import EmptyMemory
from tests.helpers.crossings import NOTES, WAYS, noted_crossing, send
from tests.helpers.made_up_bodies import EMULATOR
from tests.helpers.on_meta import FromTheHost, OnlyTowardsTheDevice
from tests.helpers.packs import CPU, restored, saved
from tests.helpers.plain_replay import Kept, PlainMemory

CASES = 50
"""Drawn cases of each way."""


@dataclass
class Case:
    """A drawn memory, and the same in plain Python."""

    number: int

    def __post_init__(self):
        self.rng = rng = np.random.default_rng(self.number)
        self.runs, self.environments, self.stack, self.n = (int(rng.integers(1, most)) for most in (4, 4, 5, 4))
        self.rows = int(rng.integers(2 * self.n + 2 * self.stack, 40))
        self.body = replace(
            EMULATOR, stack=self.stack, observation=(self.stack, *rng.choice([[1, 3], [2, 3], [2, 2], [4, 4]]).tolist())
        )
        self.agent = ValueSettings(
            replay=str(rng.choice(["uniform", "prioritised"])), batch=int(rng.integers(1, 10)), n_step=self.n,
            environments=self.environments, capacity=self.rows * self.environments,
            min_history=self.n * self.environments,
        )  # fmt: skip
        self.compressed = str(rng.choice(["never", "always"]))
        self.first = np.ones((self.runs, self.environments), bool)
        self.plain = [PlainMemory(self.rows, self.environments, self.n, self.stack, False) for _ in range(self.runs)]

    def memory(self):
        seeds = [3 + run for run in range(self.runs)]
        return Memory(self.agent, [self.body], seeds, self.agent.capacity, np.full(self.runs, 0.9), self.compressed)

    def add(self, *memories):
        """A step of every environment, into each memory: a frame has one number, which is never 0."""
        shape, rng = self.first.shape, self.rng
        flags = rng.random((3, *shape)) < 0.15
        flags[1] &= ~flags[0]
        shown, rewards = rng.integers(1, 256, shape), rng.normal(size=shape).astype(np.float32)
        frame = np.broadcast_to(shown[..., None, None, None], (*shape, *self.body.frame)).astype(np.uint8)
        action = np.zeros(shape, int)
        given = dict(zip(("terminated", "truncated", "life_lost"), flags, strict=True))
        for memory in memories:
            memory.add(frame=frame, action=action, reward=rewards, first=self.first, **given)
        for run, own in enumerate(self.plain):
            values = [(shown, rewards, *flags, self.first)[i][run].tolist() for i in range(6)]
            own.steps.append([Kept(*of_one) for of_one in zip(*values, strict=True)])
        self.first = flags[0] | flags[1] | (rng.random(shape) < 0.05)


def checkpoint(memory):
    return restored(saved({"state": memory.state(), "bulk": as_tensors(memory.bulk())}))


def load(memory, kept):
    memory.load(kept["state"], filled_from(memory.bulk(), kept["bulk"]))
    return memory


def strange(memory):
    """Adds a step that the run never has."""
    shape = (memory.ring.runs, memory.ring.environments)
    flags = {name: np.ones(shape, bool) for name in ("terminated", "truncated", "life_lost", "first")}
    frame = np.full((*shape, *memory.ring.body.frame), 77, np.uint8)
    memory.add(frame=frame, action=np.ones(shape, int), reward=np.ones(shape), **flags)


@pytest.mark.parametrize("is_used", [False, True], ids=["numpy", "kernel"])
@pytest.mark.parametrize("way", WAYS[1:])
def test_batches_are_those_of_the_host(monkeypatch, is_used, way):
    if is_used:
        kernel.expect()
    monkeypatch.setattr(kernel, "is_used", lambda: is_used)
    batches = zeros = 0
    for number in range(CASES):
        case = Case(number)
        on_host, memory = case.memory(), case.memory()
        begins, steps = int(case.rng.integers(1, 30)), case.rows + int(case.rng.integers(1, 2 * case.rows))
        for step in range(steps):
            case.add(on_host, memory)
            if step == begins:  # the first batch is asked for in the middle
                send(memory, way)
            if case.rng.random() < 0.03:
                memory = load(case.memory(), checkpoint(memory))
                send(memory, way)
            if case.rng.random() < 0.03:
                kept = checkpoint(memory)
                for _ in range(int(case.rng.integers(1, 4))):  # steps that it loses again
                    strange(memory)
                load(memory, kept)
            if case.rng.random() < 0.01:
                on_host.clear()
                memory.clear()
            if step >= begins and case.rng.random() < 0.3:
                try:
                    index = on_host.drawn(step)
                except EmptyMemory:
                    continue
                assert all(np.array_equal(*both) for both in zip(index, memory.drawn(step), strict=True))
                wanted, found = on_host.batch(index, CPU), memory.batch(index, CPU)
                assert wanted.keys() == found.keys()
                for name, value in wanted.items():
                    assert value.dtype == found[name].dtype
                    assert torch.equal(value, found[name]), name
                assert torch.equal(on_host.second(step, CPU), memory.second(step, CPU))
                zeros += _compare(case, index, found["x"])
                batches += 1
    assert batches > 8 * CASES
    assert zeros > CASES


def _compare(case, index, x):
    """The frames of a batch and those of plain Python.  Returns the number of frames before an episode's first."""
    zeros = 0
    for run, own in enumerate(case.plain):
        for b in range(x.shape[1]):
            shown = x[run, b].reshape(case.stack, -1)
            if b >= case.agent.batch:
                assert not shown.any(), "padding"
                continue
            wanted = own.frames(int(index.step[run, b]), int(index.environment[run, b]))
            assert shown.tolist() == [[frame] * shown.shape[1] for frame in wanted]
            zeros += wanted.count(0)
    return zeros


def test_each_frame_crosses_once():
    """Rows go in blocks, also round the ring's end; a batch sends what is left; nothing is sent again."""
    case = Case(1)
    sent, memory = [], case.memory()
    ring = DeviceRing(memory.ring, CPU, noted_crossing)
    ring._crossing.copy = lambda values, to: sent.append((len(values), to.storage_offset() // values[0].size))
    send(memory, "whole")
    memory._sender.frames = ring
    for step in range(3 * case.rows):
        case.add(memory)
        if step % 5 == 0:
            ring.entries({}, ring._crossing)
    ring.entries({}, ring._crossing)
    rows = [(first + i) for count, first in sent for i in range(count)]
    assert rows == [step % case.rows for step in range(3 * case.rows)]
    assert max(count for count, _ in sent) <= STAGED


def test_staged_frames_wait_for_the_copy_before():
    NOTES.clear()
    case = Case(2)
    memory = case.memory()
    send(memory, "ring")
    for _ in range(4 * STAGED):
        case.add(memory)
    of_copies = [note for note in NOTES if note != "made"]
    assert len(of_copies) >= 8
    order = [1, 0] * len(of_copies)
    wanted = [note for at in order for note in (f"waited for {at}", f"recorded {at}")]
    assert of_copies == wanted[: len(of_copies)]


def test_a_ring_that_is_ten_times_as_long_as_its_content_sends_the_content_only():
    case = Case(3)
    memory = case.memory()
    for _ in range(case.rows + 3):
        case.add(memory)
    ring, sent = DeviceRing(memory.ring, CPU, noted_crossing), []
    ring._crossing.copy = lambda values, to: sent.append(len(values))
    ring.entries({}, ring._crossing)
    assert sum(sent) == case.rows


def test_distinct_frames_are_fewer_bytes_than_whole_stacks():
    """Four frames and one step on: five of eight differ, if no frame is drawn twice."""
    case = Case(4)
    case.runs, case.plain, case.first = 2, [], np.ones((2, 1), bool)
    case.body = replace(EMULATOR, stack=4, observation=(4, 20, 30))
    case.agent = ValueSettings(batch=32, capacity=4000, min_history=1)
    memory = case.memory()
    for _ in range(3000):
        case.add(memory)
    send(memory, "distinct")
    crossed = []
    crossing = memory._sender._crossings[""] = noted_crossing()
    usual = crossing.sent
    crossing.sent = lambda batch: crossed.append(batch) or usual(batch)
    memory.batch(memory.drawn(0), CPU)
    whole = 2 * 2 * 32 * 4 * 600
    assert 0.3 * whole < crossed[0]["frames"].nbytes <= (5 * 2 * 32 + 1) * 600
    assert sum(each.nbytes for each in crossed[0].values()) < 0.7 * whole
    assert crossing._memory[crossing._now]["frames"].numel() == (5 * 2 * 32 + 1) * 600, "made once"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("replay", ["uniform", "prioritised"])
def test_nothing_is_read_from_the_device_and_all_copies_are_asynchronous(way, replay):
    case = Case(6)
    case.agent = replace(case.agent, replay=replay)
    memory, there = case.memory(), torch.device("meta")
    send(memory, way, there)
    with OnlyTowardsTheDevice() as noticed:
        for step in range(2 * case.rows):
            case.add(memory)
            if step > case.rows and step % 4 == 0:
                batch = memory.batch(memory.drawn(step), there)
                assert {value.device.type for value in [*batch.values(), memory.second(step, there)]} == {"meta"}
    assert noticed.copies > case.rows


@pytest.mark.parametrize(
    ("words", "n", "fits", "kind"),
    [
        ({}, 1, True, DeviceRing),
        ({}, 1, False, DistinctFrames),
        ({}, 3, True, DeviceRing),
        ({}, 3, False, type(None)),  # no stack has a frame of another
        ({"stack": 1, "observation": (1, 2, 3)}, 1, True, DeviceRing),
        ({"stack": 1, "observation": (1, 2, 3)}, 1, False, type(None)),
        ({"dtype": "float32"}, 1, True, type(None)),
    ],
)
def test_the_way_follows_from_the_memory_alone(monkeypatch, words, n, fits, kind):
    monkeypatch.setattr(frames, "DeviceRing", lambda ring, device: DeviceRing(ring, device, noted_crossing))
    agent = ValueSettings(capacity=40, min_history=4, n_step=n)
    memory = Memory(agent, [replace(EMULATOR, **words)], [0, 1], 40, np.array([0.9, 0.9]))
    needed = 40 * 2 * 6
    free = int(needed / FRAMES_SHARE) + 1 if fits else int(needed / FRAMES_SHARE) - 1
    assert isinstance(frames_for(memory.ring, n, CPU, free), kind)


def test_a_gpu_whose_memory_went_elsewhere_gets_frames_with_the_batches(monkeypatch):
    def full(ring, device):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(frames, "DeviceRing", full)
    memory = Case(5).memory()
    assert not isinstance(frames_for(memory.ring, 0, CPU, 10**9), DeviceRing)


def test_workers_share_a_gpus_memory_without_what_each_has_needed(monkeypatch):
    memory = {"kept": 90, "peak": 20}
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: memory.update(kept=30))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: memory["kept"])
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (530 - memory["kept"], 1000))
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: memory["peak"])
    assert frames.free_on(CPU, 1) == 500, "others have the rest"
    memory["peak"] = 50
    assert [frames.free_on(CPU, sharing) for sharing in (1, 2, 4)] == [480, 400, 175]


def test_another_copy_is_noticed():
    there = torch.zeros(3, device="meta")
    with OnlyTowardsTheDevice():
        torch.zeros(3).to("meta", non_blocking=True)
        with pytest.raises(FromTheHost):
            torch.zeros(3).to("meta")
        with pytest.raises(FromTheHost):
            there.copy_(torch.zeros(3))
        with pytest.raises(FromTheHost):
            there + torch.zeros(3)
        with pytest.raises(NotImplementedError):
            there.cpu()
