"""The choice agent=supervised."""

from plasticity_lab.component import Component


class Supervised(Component):
    """Cross-entropy on arriving batches; it has no settings. `SupervisedLearner` is what does the work."""
