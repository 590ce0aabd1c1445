"""Atari games by ale-py: the frames that it makes for agents, and episodes that can be had again exactly.

Each episode loads its game anew with a seed of its own, so that it is a function of that seed and of its actions: what
is saved is these. A state of the emulator itself, taken within an episode, goes on otherwise in some games
(docs/atari.md). The frames are those of ale-py's AtariVectorEnv: grey, the brighter of the last two screens of
a step, scaled to 84 × 84.

Legend: M copies, E of them that begin anew.
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
"""More frames than an episode can have: `Environments` says when it is broken off."""


class Atari:
    """M copies of a game.  An action is one of its minimal set, or of all 18, and is taken for four frames.

    game: as ale-py calls it. sticky: how likely a frame takes the last action again. full_actions: whether there are
    all 18. noops: an episode begins with fewer frames without an action than this, as many as its seed says; 0: none.
    threshold: None where an action is a choice. Else it is three numbers, from which ale-py makes one of the 18
    (Farebrother & Castro 2024): how far the joystick is moved, 0 … 1, in which direction, −π … π (0 is right, π / 2
    up), and whether to fire, 0 … 1; of across, up and fire those count that are beyond the threshold.
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
        # Of one action: how it is kept, and its shape.
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
        """How many there are, or how many numbers one has."""
        space = cast(Any, self.games.single_action_space)
        return int(space.shape[0]) if self._action else int(space.n)

    def start(self, copies: NDArray[np.int64], streams: Sequence[np.random.Generator]) -> NDArray[np.uint8]:
        """Begins these copies (E,) anew; their frames, (E, 1, 84, 84)."""
        for copy, stream in zip(copies, streams, strict=True):
            self.seeds[copy], self.taken[copy] = stream.integers(2**31 - 1), bytearray()
        frames, facts = self._reset(copies)
        self.lives[copies] = facts["lives"][copies]
        return frames[copies]

    def step(self, actions: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.bool_]]:
        """A step of every copy, actions (M,) or (M, 3): frames (M, 1, 84, 84), rewards as the game gives them, which
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
        """Arrays "seeds" and "lives" (M,), and "taken": a byte for each action of the running episodes, or twelve for
        one of three numbers.
        """
        return {"seeds": self.seeds.copy(), "lives": self.lives.copy(), "taken": [bytes(each) for each in self.taken]}

    def load(self, state: Mapping[str, Any]) -> None:
        """Goes back to what `state` gave: takes the actions of each running episode again, all to end in one step."""
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
        """As ale-py has it, which asserts the type of actions."""
        return self.games.step(actions.astype(np.float32 if self._action else np.int64))

    def _reset(self, copies: NDArray[np.int64]) -> tuple[NDArray[np.uint8], Mapping[str, NDArray[Any]]]:
        """Loads the games of these copies anew, by their seeds.  Returns what ale-py shows and says of all copies."""
        anew = np.zeros(len(self.seeds), np.bool_)
        anew[copies] = True
        if self._begun and not anew.all():
            return self.games.reset(seed=self.seeds[anew], options={"reset_mask": anew})
        self._begun = True  # a part can be begun only after all have been
        return self.games.reset(seed=self.seeds)
