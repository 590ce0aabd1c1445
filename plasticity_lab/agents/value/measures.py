"""What a value agent measures: loss, values and exploration by update, episodes, and a run's returns in a few numbers.

A row of epochs is of `epoch_steps` agent steps; where nothing was learned in them, as in the warm-up, it has no loss.
"""

from plasticity_lab.agents.acting.measures import measures_of, of_updates

VALUE_MEASURES = measures_of(
    of_updates("loss", "Loss"),
    of_updates("q", "Value of the actions taken", "reward"),
    of_updates("epsilon", "Random actions, ε"),
)
