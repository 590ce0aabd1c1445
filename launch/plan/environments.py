"""Which environments runs are stepped in, and what can take steps of each, to be timed."""

import json
from collections.abc import Callable, Iterable, Mapping

from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.cost import Cost
from plasticity_lab.component import load_as
from plasticity_lab.run import Run


def environments_of(runs: Iterable[Run], cost_of: Callable[[Run], Cost]) -> dict[str, str]:
    """The environments of the runs, as their costs name them → the class of an agent that acts there.

    cost_of: asked once for all runs of one benchmark and one agent; raises as it does.
    """
    distinct = {
        json.dumps([run.science[group] for group in ("benchmark", "agent")], sort_keys=True): run for run in runs
    }
    return {name: run.targets["agent"] for run in distinct.values() for name in cost_of(run).host_steps}


def steps_in(environments: Mapping[str, str]) -> dict[str, Callable[[int], object]]:
    """Of each of the environments that can be stepped here: what takes that many steps of it.

    environments: name → the class of an agent, as `environments_of` finds them.
    """
    known = {target: load_as(target, Agent).timed_environments() for target in set(environments.values())}
    return {name: known[target][name] for name, target in environments.items() if name in known[target]}
