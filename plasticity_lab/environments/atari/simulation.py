"""Atari games by ale-py: its frames for agents, and episodes that can be replayed exactly.

Each episode loads its game again with a separate seed, so it is a function of that seed and of its actions. A saved
state consists of these. A state of the emulator itself, taken within an episode, continues differently in some games
(docs/pages/how_to/atari.md). The frames are those that ale-py's AtariVectorEnv makes: grey, the brighter of the last
two screens of a step, scaled to 84 × 84.

Legend: M copies, E copies that start an episode.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from ale_py import ALEInterface, LoggerMode
from ale_py.vector_env import AtariVectorEnv
from numpy.typing import NDArray

from plasticity_lab.environments.atari.games import FRAMES, NUMBERS, SCREEN, STICKY
from plasticity_lab.environments.body import Saved

NEVER = 2**31 - 1
"""More frames than an episode can have: `Environments` truncates episodes."""


class Atari:
    """M copies of a game.  An action is one of its minimal set, or of all 18, and is repeated for four frames.

    game: its name in ale-py. sticky: probability that a frame repeats the last action. full_actions: whether there are
    all 18. noops: an episode begins with a number of frames without an action, below `noops`, by its seed; 0: none.
    threshold: None for discrete actions. Otherwise an action is three numbers, and ale-py makes one of the 18 actions
    of them (Farebrother & Castro 2024): distance of the joystick, 0 … 1; direction, −π … π (0 is right, π / 2 up); and
    whether to fire, 0 … 1. Horizontal, vertical and fire count if they exceed the threshold.
    """

    def __init__(
        self,
        copies: int,
        game: str,
        sticky: float = STICKY,
        full_actions: bool = False,
        noops: int = 0,
        threshold: float | None = None,
    ) -> None:
        ALEInterface.setLoggerMode(LoggerMode.Error)
        continuous = {} if threshold is None else {"continuous": True, "continuous_action_threshold": threshold}
        # The stored type and the shape of one action.
        self._kept, self._action = (np.uint8, ()) if threshold is None else (np.float32, (NUMBERS,))
        self.games = AtariVectorEnv(
            game,
            copies,
            num_threads=1,
            max_num_frames_per_episode=NEVER,
            repeat_action_probability=sticky,
            full_action_space=full_actions,
            img_height=SCREEN,
            img_width=SCREEN,
            stack_num=1,
            frameskip=FRAMES,
            noop_max=noops,
            use_fire_reset=False,
            reward_clipping=False,
            **continuous,
        )
        self.seeds, self.lives = np.zeros(copies, np.int64), np.zeros(copies, np.int64)
        self.lost = np.zeros(copies, np.bool_)
        self.taken = [bytearray() for _ in range(copies)]
        self._begun = False

    @property
    def actions(self) -> int:
        """Number of actions, or number of values in an action."""
        space = cast(Any, self.games.single_action_space)
        return int(space.shape[0]) if self._action else int(space.n)

    def start(self, copies: NDArray[np.int64], streams: Sequence[np.random.Generator]) -> NDArray[np.uint8]:
        """Starts an episode in these copies (E,); returns their frames, (E, 1, 84, 84)."""
        for copy, stream in zip(copies, streams, strict=True):
            self.seeds[copy], self.taken[copy] = stream.integers(2**31 - 1), bytearray()
        frames, facts = self._reset(copies)
        self.lives[copies] = facts["lives"][copies]
        return frames[copies]

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.bool_]]:
        """A step of every copy, actions (M,) or (M, 3): frames (M, 1, 84, 84), rewards of the game, and whether it
        ended.
        """
        for taken, action in zip(self.taken, actions.astype(self._kept), strict=True):
            taken += action.tobytes()
        frames, rewards, over, _, facts = self._step(actions)
        lives = facts["lives"].astype(np.int64)
        self.lost, self.lives = lives < self.lives, lives
        return frames.copy(), rewards.astype(np.float64), over.astype(np.bool_)

    def life_lost(self) -> NDArray[np.bool_]:
        """Which copies lost a life in the last step, (M,)."""
        return self.lost

    def state(self) -> dict[str, Saved]:
        """Arrays "seeds" and "lives" (M,), and "taken": one byte for each action of the running episodes, or twelve
        bytes if an action is three numbers.
        """
        return {"seeds": self.seeds.copy(), "lives": self.lives.copy(), "taken": [bytes(each) for each in self.taken]}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restores a result of `state`: replays the actions of each running episode, all ending in the same step."""
        self.seeds, self.lives = state["seeds"].copy(), state["lives"].copy()
        self.taken = [bytearray(each) for each in state["taken"]]
        episodes = [np.frombuffer(bytes(each), self._kept).reshape(-1, *self._action) for each in self.taken]
        nothing = np.zeros(self._action, self._kept)
        longest = max(map(len, episodes))
        begins = np.array([longest - len(each) for each in episodes])
        for step in range(longest + 1):
            if len(beginning := np.flatnonzero(begins == step)):
                self._reset(beginning)
            if step < longest:
                at = (step - begins).tolist()
                self._step(
                    np.array([own[place] if place >= 0 else nothing for own, place in zip(episodes, at, strict=True)])
                )

    def _step(self, actions: NDArray[Any]) -> tuple[Any, ...]:
        """A step of ale-py, which requires this type of actions."""
        return self.games.step(actions.astype(np.float32 if self._action else np.int64))

    def _reset(self, copies: NDArray[np.int64]) -> tuple[NDArray[np.uint8], Mapping[str, NDArray[Any]]]:
        """Loads the games of these copies again, with their seeds.  Returns ale-py's frames and facts of all copies."""
        anew = np.zeros(len(self.seeds), np.bool_)
        anew[copies] = True
        if self._begun and not anew.all():
            return self.games.reset(seed=self.seeds[anew], options={"reset_mask": anew})
        self._begun = True  # a part can be begun only after all have been
        return self.games.reset(seed=self.seeds)
