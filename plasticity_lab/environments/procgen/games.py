"""Procgen's sixteen games as bodies, before anything is built.

By what their returns are normalised is data of the analysis, analysis/reported/score_ends.csv.
"""

from functools import partial

from plasticity_lab.environments.body import Body
from plasticity_lab.environments.procgen.simulation import SCREEN, Procgen
from plasticity_lab.errors import ConfigError

GAMES = (
    "bigfish", "bossfight", "caveflyer", "chaser", "climber", "coinrun", "dodgeball", "fruitbot",
    "heist", "jumper", "leaper", "maze", "miner", "ninja", "plunder", "starpilot",
)  # fmt: skip
ALL = "games16"
ACTIONS, MAX_STEPS = 15, 1_000


def procgen(name: str, levels: int) -> Body:
    """A game in easy mode.  levels: of so many, the first, an episode shows one; 0: of all.  Raises ConfigError."""
    if name not in GAMES:
        raise ConfigError(f"There is no Procgen game '{name}'; there are {', '.join(GAMES)}, and {ALL}, all.")
    return Body(
        name=name,
        version=f"procgen 0.10, easy, {f'{levels} levels' if levels else 'all levels'}",
        observation=(3, SCREEN, SCREEN),
        actions=ACTIONS,
        max_steps=MAX_STEPS,
        simulation=partial(Procgen, name, levels),
        source="Cobbe et al. 2020, as the package procgen 0.10.7 has it",
        dtype="uint8",
    )
