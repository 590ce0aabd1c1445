"""Value agents: the Rainbow of packs beside the one that people write, in updates of a run, each with its acting."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from launch.bench.plain_rainbow import PERIOD, PlainRainbow
from launch.command import resolve
from launch.plan.timing import Contender
from plasticity_lab.agents.value.learner import ValueLearner
from plasticity_lab.assembly import assembled
from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.benchmarks.bodies.segments import Segment
from plasticity_lab.environments.body import Body
from plasticity_lab.records.rows import Position
from plasticity_lab.run import Run

BENCHMARKS = {"small_impala": "games", "nature": "catch_84", "impala": "catch_84"}
"""Network → what it plays: boards of 10 × 10, or 84 × 84 pixels in four frames."""
HEADS = {
    "flattened": (),
    "SoftMoE-1": ("head=softmoe",),
    "SoftMoE-4": ("head=softmoe", "head.experts=4"),
    "SoftMoE-1 × 4": ("head=softmoe", "head.scale=4"),
    "expert choice-1": ("head=expert_choice",),
    "expert choice-4": ("head=expert_choice", "head.experts=4"),
}
"""Of the part `heads`: a name for a table, and a command's words."""
ENDLESS = 10**9
"""Steps of a task that no bench comes to the end of."""
CAPACITY, HISTORY = 100_000, 200
"""Steps that a memory holds, and that are acted before anything is learned."""
ACTING, ENVIRONMENT, MEMORY, UPDATE = SHARES = ("acting", "environment", "memory", "update")
"""What the time of a burst is divided into; what is left over belongs to none of them."""


class PackedRainbow:
    """A pack of runs of `agent=rainbow`; a burst is a chunk of steps with its updates.

    updates: of a run in a burst. seconds: what all bursts but the first took for each of SHARES, and in all: CPU time,
    or on a GPU, where a part of the work is waited for only later, by the wall clock.
    """

    def __init__(self, runs: Sequence[Run], mode: str, device: str = "cpu") -> None:
        bodies = runs[0].component("benchmark", BodyBenchmark).outline()
        stream, learner = assembled(runs, bodies, torch.device(device), mode != "eager", kernels=mode == "kernels")
        assert isinstance(learner, ValueLearner)
        self.learner, task = learner, stream.task(0)
        learner.begin(task, fresh=True)
        self.now = time.process_time if device == "cpu" else time.perf_counter
        self.seconds: dict[str, float] = dict.fromkeys((*SHARES, "all"), 0.0)
        self._watch()
        self.chunks: Iterator[Segment] = task.chunks(Position(0, 0))
        self.updates = task.most // PERIOD
        while not learner.timetable.learns(learner.memory.steps):
            learner.advance(next(self.chunks))
        self._bursts = 0

    def burst(self) -> None:
        """A chunk."""
        if self._bursts == 1:  # what comes before compiles
            self.seconds.update(dict.fromkeys(self.seconds, 0.0))
        began = self.now()
        self.learner.advance(next(self.chunks))
        if self.learner.device.type == "cuda":
            torch.cuda.synchronize(self.learner.device)
        self.seconds["all"] += self.now() - began
        self._bursts += 1

    def _watch(self) -> None:
        """From here on, what is called is timed."""
        actor, memory = self.learner.actor, self.learner.memory
        parts = [(actor.environments, "step", ENVIRONMENT), (actor, "network", ACTING), (self.learner, "step", UPDATE)]
        parts += [(memory, name, MEMORY) for name in ("add", "drawn", "batch", "learned")]
        for owner, name, share in parts:
            setattr(owner, name, self._timed(getattr(owner, name), share))

    def _timed(self, function: Callable[..., Any], share: str) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            began = self.now()
            found = function(*arguments, **named)
            self.seconds[share] += self.now() - began
            return found

        return timed


def packed_rainbow(network: str, width: int, mode: str, head: Sequence[str] = (), device: str = "cpu") -> PackedRainbow:
    """A pack of that many runs with the settings of conf/agent/rainbow.yaml, but for what the bench has no time for.

    head: words of a command that choose another than flatten.
    """
    return PackedRainbow(_runs(network, width, head), mode, device)


def body_of(network: str) -> Body:
    """What a network plays."""
    return next(iter(_runs(network, 1)[0].component("benchmark", BodyBenchmark).outline().by_name.values()))


def _runs(network: str, width: int, head: Sequence[str] = ()) -> Sequence[Run]:
    words = [f"benchmark={BENCHMARKS[network]}", f"benchmark.environment_steps={ENDLESS}", f"seed=range(0,{width})"]
    words += [f"agent.capacity={CAPACITY}", f"agent.min_history={HISTORY}", f"agent.epoch_steps={ENDLESS}"]
    return resolve(["agent=rainbow", f"network={network}", *head, *words, "device=cpu"]).runs


def contenders(network: str, widths: Sequence[int], modes: Sequence[str], device: str = "cpu") -> list[Contender]:
    """The plain script, as it is mostly written and tuned, and packs of these widths and modes, all on one device."""
    facts = {"activation": "relu", "network": network}
    packs = [
        (width, mode, packed_rainbow(network, width, mode, device=device))
        for width, mode in itertools.product(widths, modes)
    ]
    updates, found = packs[0][2].updates, list[Contender]()
    for name, tuned in (("plain script", False), ("plain script, channels last, fused Adam", True)):
        plain = PlainRainbow(body_of(network), network, CAPACITY, HISTORY, tuned, device=device)
        burst = _bursts(plain, updates)
        found.append(Contender(name, facts | {"width": 1, "mode": "eager"}, updates, burst))
    for width, mode, pack in packs:
        own = facts | {"width": width, "mode": mode, "seconds": pack.seconds}
        found.append(Contender(f"packed, {mode}", own, width * pack.updates, pack.burst))
    return found


def heads(network: str, width: int, mode: str, device: str = "cpu") -> list[Contender]:
    """The same agent with each of HEADS, the first of which the others are compared with."""
    found = []
    for name, words in HEADS.items():
        pack = packed_rainbow(network, width, mode, words, device)
        facts = {"activation": "relu", "network": network, "width": width, "mode": mode, "seconds": pack.seconds}
        found.append(Contender(name, facts, width * pack.updates, pack.burst))
    return found


def _bursts(plain: PlainRainbow, updates: int) -> Callable[[], None]:
    return lambda: plain.burst(updates)
