"""The Atari games as bodies, before anything is built: this file imports no ale-py."""

from functools import partial
from math import pi

from plasticity_lab.environments.atari.games import FRAMES, MAX_STEPS, NUMBERS, SCREEN, STICKY, game_named
from plasticity_lab.environments.body import Body, Simulation
from plasticity_lab.errors import ConfigError

ALL = 18
"""Number of actions of the joystick."""
PACKS_TO = 0.2
"""Of 60 games with random actions, Yar's Revenge takes most: 0.18; the mean is 0.04."""
LOW, HIGH = (0.0, -pi, 0.0), (1.0, pi, 1.0)
"""Bounds of an action's numbers."""


def atari(
    name: str,
    sticky: float = STICKY,
    full_actions: bool = False,
    noops: int = 0,
    max_steps: int = MAX_STEPS,
    threshold: float | None = None,
) -> Body:
    """A game as a body.  See `Atari`; max_steps: limit of an episode, in steps of four frames.  Raises ConfigError."""
    game = game_named(name)
    if threshold is not None and game.all_actions != ALL:
        # ale-py's vector of games then uses indices of the 18 actions as indices of the game's actions, and hangs.
        raise ConfigError(
            f"The game {game.name} knows {game.all_actions} of the joystick's {ALL} actions, and from numbers ale-py "
            f"makes one of all {ALL}; choose another game, or benchmark=atari."
        )
    chosen = game.all_actions if full_actions else game.actions
    return Body(
        name=game.name,
        version="v5" if threshold is None else "v5 continuous",
        observation=(FRAMES, SCREEN, SCREEN),
        actions=chosen if threshold is None else NUMBERS,
        low=None if threshold is None else LOW,
        high=None if threshold is None else HIGH,
        max_steps=max_steps,
        simulation=partial(_built, game.name, sticky, full_actions, noops, threshold),
        source="Bellemare et al. 2013, as in ale-py, with the frames of Mnih et al. 2015",
        gymnasium=f"ALE/{game.called}-v5",
        dtype="uint8",
        stack=FRAMES,
        has_lives=True,
        packages=("ale_py", "gymnasium"),
        packs_to=PACKS_TO,
    )


def _built(
    name: str, sticky: float, full_actions: bool, noops: int, threshold: float | None, copies: int
) -> Simulation:
    """Copies of the game.  Raises ConfigError if ale-py cannot be imported, or has no ROM of it."""
    try:
        from plasticity_lab.environments.atari.simulation import Atari
    except (ImportError, OSError) as error:
        raise ConfigError(
            f"The game {name} needs ale-py, which cannot be imported here ({error}): pip install ale-py, or choose a "
            "benchmark that needs none, such as benchmark=games."
        ) from error
    try:
        return Atari(copies, name, sticky, full_actions, noops, threshold)
    except (AssertionError, RuntimeError, OSError) as error:
        raise ConfigError(
            f"ale-py has no ROM of {name} here ({str(error).splitlines()[0] if str(error) else 'it gives no reason'}): "
            "its wheel on PyPI brings them; pip install --force-reinstall ale-py."
        ) from error
