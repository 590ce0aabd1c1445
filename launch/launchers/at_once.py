"""How many runs that agree in structure a launcher's workers train at once."""

from launch.launchers.prepare import Resources, costs_to_show
from launch.plan.planner import TooLarge, widest
from plasticity_lab.records.settings import Settings
from plasticity_lab.run import Run


def at_once(run: Run, resources: Resources, settings: Settings) -> int:
    """How many runs like one: as many as a pack is wide, or one for each worker where there are more of these.

    Raises ConfigError, DataError.
    """
    cost = costs_to_show(settings)(run)
    mode = resources.choice(cost, settings.mode).mode
    try:
        width = widest(run, cost, mode, resources.kind, resources.calibration, resources.memory, resources.host_memory)
    except TooLarge:
        width = 1  # whether it can be trained at all is seen when it is planned
    return max(width, resources.workers)
