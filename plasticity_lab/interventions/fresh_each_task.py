"""A fresh network for each task: the baseline that cannot lose plasticity."""

from collections.abc import Mapping
from typing import Any

from plasticity_lab.component import Chosen
from plasticity_lab.interventions.intervention import TASK_BEGINS, Intervention
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.interventions.prune_experts import prunes


class FreshEachTask(Intervention):
    """When a task begins, draws new values for all parameters and resets everything else that the agent has learned.

    Task t > 0 starts from the parameters `Model.start(seeds, device, t)`. They are drawn as for task 0, with the task's
    position in the key of each layer's random numbers. Moments and their count are reset; under PPO, so are the
    statistics of the task's environment. A memory of earlier tasks' images is kept, because it is data. Accuracies are
    therefore equal to the accuracies of separate runs that see the same data. The difference from another intervention
    shows how much earlier learning cost or helped that intervention. It has no settings, since it has no strength. A
    closed expert remains closed.
    """

    requires = frozenset({TASK_BEGINS})
    restarts_agent = True
    between_tasks = True

    @classmethod
    def version_beside(cls, settings: Mapping[str, Any], others: Mapping[str, Chosen]) -> int:
        """2 together with `PruneExperts`: version 1 opened closed experts."""
        return 2 if prunes(others) else super().version_beside(settings, others)

    def before_task(self, now: Now) -> State:
        """Writes the fresh values into the active parameters, in place. An idle environment gets them when its next
        task begins.
        """
        first, network = next(iter(now.parameters.values())), now.network
        for name, fresh in now.model.start(now.seeds, first.device, now.task).items():
            if name in network and name not in now.model.switches:
                network[name].copy_(fresh)
        return now.state
