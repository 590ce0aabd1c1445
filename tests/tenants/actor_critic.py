"""An agent from outside the package, which tells interventions and diagnostics nothing."""

from plasticity_lab.agents.ppo.agent import PPO


class ActorCritic(PPO):
    """Learns as PPO does."""

    provides = frozenset()
