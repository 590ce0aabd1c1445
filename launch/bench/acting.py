"""Agents that act in environments: packs compared with plain scripts, and with the environment's own step."""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from launch.bench.choices import STANDING
from launch.bench.plain_ppo import ROLLOUT, PlainPPO
from launch.bench.plain_rainbow import PERIOD, PlainRainbow
from launch.command import resolve
from launch.plan.timing import Contender
from plasticity_lab.agents.value.learner import ValueLearner
from plasticity_lab.assembly import assembled
from plasticity_lab.benchmarks.bodies.base import Bodies, BodyBenchmark
from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Environments
from plasticity_lab.records.rows import Position
from plasticity_lab.run import Run

ENDLESS = 10**9
"""More steps of a task than any bench takes; the plain PPO gets the same number."""
ALONE_STEPS = 500
"""Steps of each environment in a burst without learning."""
BENCHMARKS = {"small_impala": "games", "nature": "catch_84", "impala": "catch_84"}
"""Network → the benchmark that it plays: boards of 10 × 10, or 84 × 84 pixels in four frames."""
HEADS = {
    "flattened": (),
    "SoftMoE-1": ("head=softmoe",),
    "SoftMoE-4": ("head=softmoe", "head.experts=4"),
    "SoftMoE-1 × 4": ("head=softmoe", "head.scale=4"),
    "expert choice-1": ("head=expert_choice",),
    "expert choice-4": ("head=expert_choice", "head.experts=4"),
}
"""Contenders of the part `heads`: name → the words of a command that choose the head."""
CAPACITY, HISTORY = 100_000, 200
"""Steps that a replay memory holds, and steps acted before the first update."""
ACTING, ENVIRONMENT, MEMORY, UPDATE = SHARES = ("acting", "environment", "memory", "update")
"""The measured parts of a burst's time; other work belongs to no part."""


class Standing:
    """M copies of an environment with HalfCheetah's shapes without costs: only the agent's work is measured."""

    def __init__(self, copies: int) -> None:
        self._shown = np.zeros((copies, 17), np.float32)
        self._rewards, self._never = np.zeros(copies), np.zeros(copies, np.bool_)

    def start(self, copies: NDArray[np.int64], streams: Sequence[np.random.Generator]) -> NDArray[np.float32]:
        """Zeros."""
        return self._shown[: len(copies)]

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_]]:
        """Zeros, and no episode ends."""
        return self._shown, self._rewards, self._never

    def state(self) -> dict[str, NDArray[Any]]:
        """Nothing."""
        return {}

    def load(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Does nothing."""


def ppo(name: str, widths: Sequence[int], modes: Sequence[str], device: str = "cpu") -> list[Contender]:
    """The plain script, packs of `experiment=ppo_cleanrl`, and the environment alone, stepped by us and by Gymnasium.

    STANDING has packs only. Only packs use the device: the plain script follows its source, and environments need the
    CPU.
    """
    body = replace(BODIES["halfcheetah"], simulation=Standing) if name == STANDING else BODIES[name]
    facts = {"activation": "tanh", "body": name}
    packs = []
    for width, mode in itertools.product(widths, modes):
        burst = _ppo_pack(body, width, mode, device)
        packs.append(Contender(f"packed, {mode}", facts | {"width": width, "mode": mode}, width * ROLLOUT, burst))
    if name == STANDING:
        return packs
    plain = PlainPPO(body.gymnasium, 0, ENDLESS)
    script = Contender("plain script", facts | {"width": 1, "mode": "eager"}, ROLLOUT, plain.burst)
    facts, width = {"activation": "", "body": name, "mode": ""}, max(widths)
    alone = Contender("the body alone", facts | {"width": width}, ALONE_STEPS * width, _alone(body, width))
    name = "the body alone, in Gymnasium"
    return [script, *packs, alone, Contender(name, facts | {"width": 1}, ALONE_STEPS, _in_gymnasium(body))]


def _ppo_pack(body: Body, width: int, mode: str, device: str) -> Callable[[], None]:
    """A pack on one environment; a burst is a rollout of each run, and all its updates."""
    words = (f"benchmark.bodies=[{body.name}]", f"benchmark.environment_steps={ENDLESS}", f"seed=range(0,{width})")
    runs = resolve(["experiment=ppo_cleanrl", "benchmark=mujoco", *words, "device=cpu"]).runs
    learner, task = _begun(runs, Bodies({body.name: body}), mode, device)
    chunks = task.chunks(Position(0, 0))
    return lambda: learner.advance(next(chunks))


def _begun(runs: Sequence[Run], bodies: Bodies, mode: str, device: str) -> tuple[Any, Any]:
    """A pack's learner at the beginning of its first task, and this task."""
    stream, learner = assembled(runs, bodies, torch.device(device), mode != "eager", kernels=mode == "kernels")
    task = stream.task(0)
    learner.begin(task, fresh=True)
    return learner, task


def _alone(body: Body, width: int) -> Callable[[], None]:
    """A burst of steps of `width` copies of an environment without learning."""
    environments, actions = Environments(body, range(width), 1, 0), _actions(body, width)

    def burst() -> None:
        for _ in range(ALONE_STEPS):
            environments.step(next(actions))

    return burst


def _in_gymnasium(body: Body) -> Callable[[], None]:
    import gymnasium

    environment, actions = gymnasium.make(body.gymnasium), _actions(body, 1)
    environment.reset(seed=0)

    def burst() -> None:
        for _ in range(ALONE_STEPS):
            *_, terminated, truncated, _ = environment.step(next(actions)[0, 0])
            if terminated or truncated:
                environment.reset()

    return burst


def _actions(body: Body, width: int) -> Iterator[NDArray[np.float32]]:
    """The same thousand actions again and again, uniform within the environment's bounds."""
    draw = np.random.default_rng(0)
    return itertools.cycle(draw.uniform(*body.bounds, (1000, width, 1, body.actions)).astype(np.float32))


class PackedRainbow:
    """A pack of runs of `agent=rainbow`; a burst is a chunk of steps with its updates.

    updates: per run in a burst. seconds: summed over all bursts but the first, for each of SHARES and in all. These are
    CPU seconds; on a GPU, which works asynchronously, seconds by the wall clock.
    """

    def __init__(self, runs: Sequence[Run], mode: str, device: str) -> None:
        self.learner, task = _begun(runs, _bodies_of(runs), mode, device)
        assert isinstance(self.learner, ValueLearner)
        self.chunks, self.updates = task.chunks(Position(0, 0)), task.most // PERIOD
        self.now = time.process_time if device == "cpu" else time.perf_counter
        self.seconds: dict[str, float] = dict.fromkeys((*SHARES, "all"), 0.0)
        self._time_parts()
        while not self.learner.timetable.learns(self.learner.memory.steps):
            self.learner.advance(next(self.chunks))
        self._bursts = 0

    def burst(self) -> None:
        """A chunk."""
        if self._bursts == 1:  # the burst before compiled
            self.seconds.update(dict.fromkeys(self.seconds, 0.0))
        began = self.now()
        self.learner.advance(next(self.chunks))
        if self.learner.device.type == "cuda":
            torch.cuda.synchronize(self.learner.device)
        self.seconds["all"] += self.now() - began
        self._bursts += 1

    def _time_parts(self) -> None:
        """Replaces the learner's methods by ones that count their seconds."""
        actor, memory = self.learner.actor, self.learner.memory
        parts = [(actor.environments, "step", ENVIRONMENT), (actor, "network", ACTING), (self.learner, "step", UPDATE)]
        parts += [(memory, name, MEMORY) for name in ("add", "drawn", "batch", "learned")]
        for owner, name, share in parts:
            setattr(owner, name, self._timed(getattr(owner, name), share))

    def _timed(self, function: Callable[..., Any], share: str) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            began = self.now()
            result = function(*arguments, **named)
            self.seconds[share] += self.now() - began
            return result

        return timed


def rainbow(network: str, widths: Sequence[int], modes: Sequence[str], device: str = "cpu") -> list[Contender]:
    """The plain script, as it is mostly written and tuned, and packs of these widths and modes, all on one device."""
    packs = [_rainbow_pack("", network, width, mode, device) for width, mode in itertools.product(widths, modes)]
    updates = packs[0].run_steps // widths[0]
    (body,) = _bodies_of(_rainbow_runs(network, 1)).by_name.values()
    facts = {"activation": "relu", "network": network, "width": 1, "mode": "eager"}
    scripts = []
    for name, tuned in (("plain script", False), ("plain script, channels last, fused Adam", True)):
        plain = PlainRainbow(body, network, CAPACITY, HISTORY, tuned, device=device)
        scripts.append(Contender(name, facts, updates, lambda plain=plain: plain.burst(updates)))
    return [*scripts, *packs]


def heads(network: str, width: int, mode: str, device: str = "cpu") -> list[Contender]:
    """The same agent with each of HEADS; the others are compared with the first."""
    return [_rainbow_pack(name, network, width, mode, device) for name in HEADS]


def _rainbow_pack(head: str, network: str, width: int, mode: str, device: str) -> Contender:
    """A pack with the settings of conf/agent/rainbow.yaml, except a smaller memory.  head: one of HEADS, or empty."""
    pack = PackedRainbow(_rainbow_runs(network, width, HEADS.get(head, ())), mode, device)
    facts = {"activation": "relu", "network": network, "width": width, "mode": mode, "seconds": pack.seconds}
    return Contender(head or f"packed, {mode}", facts, width * pack.updates, pack.burst)


def _bodies_of(runs: Sequence[Run]) -> Bodies:
    return runs[0].component("benchmark", BodyBenchmark).outline()


def _rainbow_runs(network: str, width: int, head: Sequence[str] = ()) -> Sequence[Run]:
    words = [f"benchmark={BENCHMARKS[network]}", f"benchmark.environment_steps={ENDLESS}", f"seed=range(0,{width})"]
    words += [f"agent.capacity={CAPACITY}", f"agent.min_history={HISTORY}", f"agent.epoch_steps={ENDLESS}"]
    return resolve(["agent=rainbow", f"network={network}", *head, *words, "device=cpu"]).runs
