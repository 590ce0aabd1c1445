"""What SAC measures: losses, values, entropy and temperature by update, episodes, and a run's returns."""

from plasticity_lab.agents.acting.measures import FRICTION, measures_of, of_updates

SAC_MEASURES = measures_of(
    of_updates("critic_loss", "Loss of the critics"),
    of_updates("q", "Value of the actions taken", "reward"),
    of_updates("actor_loss", "Loss of the actor"),
    of_updates("entropy", "Entropy of the policy", "nats"),
    of_updates("temperature", "Weight of the entropy, α"),
    of_tasks=(FRICTION,),
)
