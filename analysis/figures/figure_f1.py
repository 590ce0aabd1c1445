"""Figure F1: the generalization gap at the end of each cycle, by activation and body."""

import numpy as np

from analysis.figures.cycles import Arm, body_name, cycled
from analysis.figures.drawing import Asked, Drawing, Panel, Series
from analysis.statistics.gap import gaps
from analysis.statistics.normalise import FLOOR, failed
from plasticity_lab.errors import ConfigError

WHAT = (
    "Generalization gap at the end of each cycle: the return over the last 15 % of a stage minus the test's return "
    "under other frictions, the mean over seeds. Above 0 (orange) training is better, below 0 (green) the test."
)


def figure_f1(asked: Asked) -> Drawing:
    """The figure.  Raises ConfigError if no run has finished a cycle of bodies, or none was tested."""
    panels, said = [], [WHAT]
    several = cycled(asked)
    for found in several:
        tested = [arm for arm in found.arms if not np.isnan(arm.returns[:, 1]).all()]
        if not tested:
            continue
        of = f" · {found.title}" if len(several) > 1 else ""
        cycles = [f"cycle {cycle + 1}" for cycle in range(tested[0].returns.shape[0])]
        for at, body in enumerate(found.bodies):
            series = [_row(arm, at, cycles) for arm in tested]
            title = f"{body_name(body)}{of}"
            panels.append(Panel(title, "", "gap (return)", series, x_categories=cycles, heat="around 0"))
        lost = sum(int(failed(arm.returns).any(axis=1).sum()) for arm in tested)
        if lost:
            said.append(
                f"{lost} gaps of runs count as 0 because training or test failed (below {FLOOR:g}, or not finite); "
                "–: the gaps of every run do."
            )
        said += found.caption
    if not panels:
        raise ConfigError("No run was tested after its stages; benchmark.test_episodes says how often.")
    return Drawing("figureF1", "Generalization gap by cycle", panels, said)


def _row(arm: Arm, body: int, cycles: list[str]) -> Series:
    gap_CN = gaps(arm.returns[:, 0], arm.returns[:, 1])[:, :, body]
    lost_C = np.any(failed(arm.returns), axis=1)[:, :, body].all(axis=1)  # a 0 would look like a gap that is closed
    y, n = np.where(lost_C, np.nan, gap_CN.mean(axis=1)).tolist(), [len(arm.runs)] * len(cycles)
    return Series(arm.label, arm.activation, cycles, y, n, runs=arm.runs, joined=False, listed=False)
