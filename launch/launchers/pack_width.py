"""How many runs that agree in structure one pack would have."""

from launch.launchers.prepare import Resources, costs_to_show
from launch.plan.planner import TooLarge, widest
from plasticity_lab.records.settings import Settings
from plasticity_lab.run import Run


def pack_width(run: Run, resources: Resources, settings: Settings) -> int:
    """The most runs like one that a pack has, however many there are.  Raises ConfigError, DataError."""
    cost = costs_to_show(settings)(run)
    mode = resources.choice(cost, settings.mode).mode
    try:
        return widest(run, cost, mode, resources.kind, resources.calibration, resources.memory, resources.host_memory)
    except TooLarge:
        return 1  # whether it can be trained at all is seen when it is planned
