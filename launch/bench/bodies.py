"""PPO on bodies: a packed run-step beside the plain script's, and beside the body's own step with nothing learned."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from launch.bench.choices import STANDING
from launch.bench.plain_ppo import ROLLOUT, PlainPPO
from launch.command import resolve
from launch.plan.timing import Contender
from plasticity_lab.assembly import assembled
from plasticity_lab.benchmarks.bodies.base import Bodies
from plasticity_lab.benchmarks.bodies.stream import Rollout
from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Environments
from plasticity_lab.records.rows import Position

ENDLESS = 10**9
"""Steps of a task that no bench comes to the end of: as many as the plain script gets."""
ALONE_STEPS = 500
"""Steps of each environment in a burst without learning."""


class Standing:
    """M copies of a body that shows HalfCheetah's shapes and costs nothing: what is left is the agent's own work."""

    def __init__(self, copies: int) -> None:
        self._shown = np.zeros((copies, 17), np.float32)
        self._rewards, self._never = np.zeros(copies), np.zeros(copies, np.bool_)

    def start(self, copies: NDArray[np.int64], streams: Sequence[np.random.Generator]) -> NDArray[np.float32]:
        """What it always shows."""
        return self._shown[: len(copies)]

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_]]:
        """Nothing happens."""
        return self._shown, self._rewards, self._never

    def state(self) -> dict[str, NDArray[Any]]:
        """There is none."""
        return {}

    def load(self, state: Mapping[str, NDArray[Any]]) -> None:
        """There is nothing to go back to."""


def body_of(name: str) -> Body:
    """The body of that name; STANDING is HalfCheetah, to all appearances."""
    return replace(BODIES["halfcheetah"], simulation=Standing) if name == STANDING else BODIES[name]


class PackedPPO:
    """A pack of runs of `experiment=ppo_cleanrl` on one body; a burst is a rollout of each and all updates by it."""

    def __init__(self, body: Body, width: int, mode: str, device: str = "cpu") -> None:
        long = (f"benchmark.bodies=[{body.name}]", f"benchmark.environment_steps={ENDLESS}", f"seed=range(0,{width})")
        runs = resolve(["experiment=ppo_cleanrl", "benchmark=mujoco", *long, "device=cpu"]).runs
        stream, self.learner = assembled(
            runs, Bodies({body.name: body}), torch.device(device), mode != "eager", kernels=mode == "kernels"
        )
        task = stream.task(0)
        self.learner.begin(task, fresh=True)
        self.chunks: Iterator[Rollout] = task.chunks(Position(0, 0))

    def burst(self) -> None:
        """A rollout."""
        self.learner.advance(next(self.chunks))


def contenders(name: str, widths: Sequence[int], modes: Sequence[str], device: str = "cpu") -> list[Contender]:
    """The plain script, packs of these widths and modes, and the body alone, in our way and in Gymnasium's.

    On a GPU are the packs only: the plain script is as its source has it, and bodies have no other place than the CPU.
    """
    body, found = body_of(name), list[Contender]()
    facts = {"activation": "tanh", "body": name}
    if name != STANDING:
        plain = PlainPPO(body.gymnasium, 0, ENDLESS)
        found.append(Contender("plain script", facts | {"width": 1, "mode": "eager"}, ROLLOUT, plain.burst))
    for width, mode in itertools.product(widths, modes):
        pack = PackedPPO(body, width, mode, device)
        found.append(Contender(f"packed, {mode}", facts | {"width": width, "mode": mode}, width * ROLLOUT, pack.burst))
    if name != STANDING:
        alone = {"activation": "", "body": name, "width": max(widths), "mode": ""}
        found.append(_alone(body, alone))
        found.append(_in_gymnasium(body, alone | {"width": 1}))
    return found


def _alone(body: Body, facts: Mapping[str, Any]) -> Contender:
    burst, steps = alone(body, facts["width"], ALONE_STEPS)
    return Contender("the body alone", facts, steps, burst)


def alone(body: Body, width: int, steps: int = 10) -> tuple[Callable[[], None], int]:
    """What steps that many copies of a body and learns nothing, `steps` times a call; and how many steps that is."""
    environments, actions = Environments(body, range(width), 1, 0), _actions(body, width)

    def burst() -> None:
        for _ in range(steps):
            environments.step(next(actions))

    return burst, steps * width


def _in_gymnasium(body: Body, facts: Mapping[str, Any]) -> Contender:
    import gymnasium

    environment = gymnasium.make(body.gymnasium)
    environment.reset(seed=0)
    actions = _actions(body, 1)

    def burst() -> None:
        for _ in range(ALONE_STEPS):
            *_, terminated, truncated, _ = environment.step(next(actions)[0, 0])
            if terminated or truncated:
                environment.reset()

    return Contender("the body alone, in Gymnasium", facts, ALONE_STEPS, burst)


def _actions(body: Body, width: int) -> Iterator[NDArray[np.float32]]:
    """The same thousand actions again and again, uniform within the body's bounds."""
    draw = np.random.default_rng(0)
    return itertools.cycle(draw.uniform(*body.bounds, (1000, width, 1, body.actions)).astype(np.float32))
