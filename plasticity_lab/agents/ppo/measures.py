"""What PPO measures: parts of the loss by update, episodes, and a run's returns in a few numbers."""

from plasticity_lab.agents.acting.measures import FRICTION, measures_of, of_updates

PPO_MEASURES = measures_of(
    of_updates("policy_loss", "Policy loss"),
    of_updates("value_loss", "Value loss"),
    of_updates("entropy", "Entropy", "nats"),
    of_updates("approx_kl", "Change of the policy, approximate divergence", "nats"),
    of_updates("first_kl", "The same in the first pass over a rollout", "nats"),
    of_updates("clip_fraction", "Clipped actions"),
    of_tasks=(FRICTION,),
)
