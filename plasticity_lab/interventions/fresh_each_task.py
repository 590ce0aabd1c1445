"""A fresh network for each task: what would be learned if no plasticity could be lost."""

from collections.abc import Mapping
from typing import Any

from plasticity_lab.component import Chosen
from plasticity_lab.interventions.intervention import TASK_BEGINS, Intervention
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.interventions.prune_experts import prunes


class FreshEachTask(Intervention):
    """When a task begins, every parameter is drawn anew, and whatever else the agent has learned is forgotten.

    Task t > 0 is learned by a network with the parameters `Model.start(seeds, device, t)`: as those of task 0, with the
    task's position in the key of each layer's random numbers. Moments and their count begin anew, and under PPO the
    statistics of the task's body. A memory of earlier tasks' images stays: it is data. So accuracies are those of
    separate runs that see the same data, and the gap between these and another intervention's is what that one has
    lost, or gained, by what it learned before. It has no settings: there is nothing to be weak or strong in. A closed
    expert stays closed.
    """

    requires = frozenset({TASK_BEGINS})
    restarts_agent = True
    between_tasks = True

    @classmethod
    def version_beside(cls, settings: Mapping[str, Any], others: Mapping[str, Chosen]) -> int:
        """2 together with `PruneExperts`: version 1 opened closed experts."""
        return 2 if prunes(others) else super().version_beside(settings, others)

    def before_task(self, now: Now) -> State:
        """Puts the fresh values into what is active, in place; of an idle body the next task that it has does."""
        first = next(iter(now.parameters.values()))
        for name, fresh in now.model.start(now.seeds, first.device, now.task).items():
            if name in now.parameters and name not in now.model.switches:
                now.parameters[name].copy_(fresh)
        return now.state
