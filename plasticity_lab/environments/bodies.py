"""The table of environments. A new one is a module with a `Simulation`, and a function and a row here."""

from plasticity_lab.environments.body import Body, Simulation
from plasticity_lab.environments.games.catch import FRAMES, catch
from plasticity_lab.environments.games.games import GAMES, game
from plasticity_lab.environments.mujoco.table import MUJOCO_BODIES
from plasticity_lab.errors import ConfigError


def _cartpole(copies: int) -> Simulation:
    from plasticity_lab.environments.classic.cartpole import CartPole

    return CartPole(copies)


BODIES = {
    body.name: body
    for body in (
        Body(
            name="cartpole",
            version="v1",
            observation=(4,),
            actions=2,
            max_steps=500,
            simulation=_cartpole,
            source="Barto, Sutton & Anderson 1983, as Gymnasium's CartPole-v1",
            gymnasium="CartPole-v1",
        ),
        catch(),
        catch(rendered=True, stack=FRAMES),
        *(game(name, full) for full in (False, True) for name in GAMES),
        *MUJOCO_BODIES,
    )
}
"""Environments by name. The module of each is imported only when its simulation is built, so planning needs none of
them."""


def body_named(name: str) -> Body:
    """The body of that name.  Raises ConfigError with the known names for any other name."""
    if name not in BODIES:
        if ours := [body.name for body in BODIES.values() if body.gymnasium == name]:
            raise ConfigError(f"The body {name} is '{ours[0]}' here.")
        raise ConfigError(f"There is no body '{name}'; there are {', '.join(sorted(BODIES))}.")
    return BODIES[name]
