"""Frames of Atari in a CPU second: our runs', compared with ale-py's vector environment and EnvPool if installed.

    python -m launch.bench.atari [--games pong,breakout] [--copies 8] [--steps 400] [--repeats 3] [--out FOLDER]

Random actions, in turns; a step is four frames of every copy. Ours give each episode a separate seed, which reloads the
game; ale-py's environment keeps its seed. EnvPool has another engine of the emulator, so its frames differ.
"""

import importlib.util
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import numpy as np

from launch.bench.choices import parsed, parser_of, write_result
from plasticity_lab.environments.atari.body import atari
from plasticity_lab.environments.atari.games import FRAMES, STICKY
from plasticity_lab.environments.environments import Environments
from plasticity_lab.process.exits import leave, status_of

Step = Callable[[np.ndarray], object]


def contenders(game: str, copies: int) -> Mapping[str, tuple[int, Step]]:
    """Name → the number of actions, and a function that takes one step of all copies."""
    from ale_py.vector_env import AtariVectorEnv  # --help need not wait for it

    body = atari(game)
    ours = Environments(body, range(copies), 1, task=0)
    plain = {"noop_max": 0, "use_fire_reset": False, "reward_clipping": False, "repeat_action_probability": STICKY}
    theirs: Any = AtariVectorEnv(game, copies, num_threads=1, **plain)
    theirs.reset(seed=0)
    steps: dict[str, tuple[int, Step]] = {
        "plasticity_lab": (body.actions, lambda actions: ours.step(actions[:, None])),
        "AtariVectorEnv": (body.actions, theirs.step),
    }
    if importlib.util.find_spec("envpool") is not None:
        import envpool  # pyright: ignore[reportMissingImports]

        options = {"env_type": "gymnasium", "num_envs": copies, "num_threads": 1, "repeat_action_probability": STICKY}
        pool: Any = envpool.make(body.gymnasium.removeprefix("ALE/"), **options)
        pool.reset()
        steps["EnvPool"] = (pool.action_space.n, pool.step)
    return steps


def measured(game: str, copies: int, steps: int, repeats: int) -> dict[str, list[float]]:
    """Name → thousands of frames in a CPU second, round by round."""
    step_of, draw = contenders(game, copies), np.random.default_rng(0)
    rates: dict[str, list[float]] = {name: [] for name in step_of}
    for _ in range(repeats):
        for name, (actions, step) in step_of.items():
            chosen = draw.integers(actions, size=(steps, copies))
            began = time.process_time()
            for actions_of_copies in chosen:
                step(actions_of_copies)
            rates[name].append(FRAMES * copies * steps / (time.process_time() - began) / 1000)
    return rates


def main() -> None:
    """The command."""
    parser = parser_of("atari", __doc__)
    parser.add_argument("--games", default="pong,breakout", help="some of them, by their names")
    parser.add_argument("--copies", type=int, default=8, help="environments side by side")
    parser.add_argument("--steps", type=int, default=400, help="steps of every copy in a round")
    parser.add_argument("--repeats", type=int, default=3, help="rounds that are measured")
    options = parsed(parser, "atari")
    by_game = {}
    for game in options.games.split(","):
        by_game[game] = of_game = measured(game, options.copies, options.steps, options.repeats)
        for name, rates in of_game.items():
            ratio = median(rate / base for rate, base in zip(rates, of_game["AtariVectorEnv"], strict=True))
            print(f"{game}, {name}: {median(rates):.1f} thousand frames a CPU second, {ratio:.2f} × AtariVectorEnv")
    write_result(options.out, "atari", {"thousands_of_frames": by_game})


if __name__ == "__main__":
    leave(status_of(main))
