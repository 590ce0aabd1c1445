"""What SAC measures: losses, values, entropy and temperature by update, episodes, and a run's returns."""

from plasticity_lab.agents.acting.measures import (
    EPISODES,
    HEADLINE,
    MARKS,
    SUMMARIES,
    TEST,
    UNSTABLE,
    flags,
    of_updates,
    summarise,
)
from plasticity_lab.records.measures import Measures

SAC_MEASURES = Measures(
    columns=(
        *EPISODES,
        of_updates("critic_loss", "Loss of the critics"),
        of_updates("q", "Value of the actions taken", "reward"),
        of_updates("actor_loss", "Loss of the actor"),
        of_updates("entropy", "Entropy of the policy", "nats"),
        of_updates("temperature", "Weight of the entropy, α"),
        UNSTABLE,
        TEST,
    ),
    summaries=SUMMARIES,
    headline=HEADLINE,
    must_stay_finite=None,
    summarise=summarise,
    marks=MARKS,
    flags=flags,
)
