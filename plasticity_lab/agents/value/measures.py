"""What a value agent measures: loss, values and exploration by update, episodes, and a run's returns in a few numbers.

A row of epochs is of `epoch_steps` agent steps; where nothing was learned in them, as in the warm-up, it has no loss.
"""

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

VALUE_MEASURES = Measures(
    columns=(
        *EPISODES,
        of_updates("loss", "Loss"),
        of_updates("q", "Value of the actions taken", "reward"),
        of_updates("epsilon", "Random actions, ε"),
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
