"""Our bootstrap and rliable's, on the same scores, in one process: how fast each is, and whether they agree.

    python -m launch.bench.rliable_peer [--arms 17] [--replicates 50000] [--out FOLDER]

`make bench-rliable` runs it in a separate environment, because rliable 1.2.0 cannot be imported with pandas 3. It needs
only NumPy and SciPy from the laboratory's dependencies. Scores are made up: 5 seeds × 4 environments for each arm, as
in the paper's tables of continual reinforcement learning. The measure is the interquartile mean with its 95 % interval.
"""

import math
import time
from importlib.metadata import version
from typing import Any

import numpy as np

from analysis.statistics.bootstrap import REPLICATES, bootstrap
from analysis.statistics.summaries import iqm
from launch.bench.choices import parsed, parser_of, write_result
from plasticity_lab.process.exits import leave, status_of

SEEDS, ENVIRONMENTS = 5, 4
Interval = tuple[float, float]


def ours(scores: np.ndarray, name: str, replicates: int) -> Interval:
    """The interval of an arm's scores, computed as for the tables."""
    found = bootstrap(iqm, scores, name=name, replicates=replicates)
    return found.low, found.high


def theirs(scores: np.ndarray, name: str, replicates: int) -> Interval:
    """The same by rliable."""
    # Only in the environment of `make bench-rliable`.
    from rliable import library, metrics  # pyright: ignore[reportMissingImports]

    def aggregated(scores: np.ndarray) -> np.ndarray:
        return np.array([metrics.aggregate_iqm(scores)])

    _, intervals = library.get_interval_estimates({name: scores}, aggregated, reps=replicates)
    low, high = intervals[name][:, 0]
    return float(low), float(high)


def tolerance(replicates: int) -> float:
    """The largest distance between ends of two intervals that chance explains, as a part of the intervals' width.

    It is 4.5 times the standard error of a difference of two 2.5 % quantiles of a normal distribution.
    """
    density, width = math.exp(-(1.96**2) / 2) / math.sqrt(2 * math.pi), 2 * 1.96
    return 4.5 * math.sqrt(2 * 0.025 * 0.975 / replicates) / density / width


def main() -> int:
    """The command.  Returns its exit status: 1 if the intervals differ by more than chance."""
    parser = parser_of("rliable_peer", __doc__)
    parser.add_argument("--arms", type=int, default=17, help="rliable takes half a minute for each")
    parser.add_argument("--replicates", type=int, default=REPLICATES)
    options = parsed(parser, "rliable")
    draws = np.random.Generator(np.random.Philox(key=0))
    arms = {f"arm {index}": draws.normal(0.5, 0.2, (SEEDS, ENVIRONMENTS)) for index in range(options.arms)}
    for interval_of in (ours, theirs):
        interval_of(arms["arm 0"], "warm", 1)  # imports
    rows = [_compared(name, scores, options.replicates) for name, scores in arms.items()]
    our_total, their_total = (sum(row["seconds"][place] for row in rows) for place in (0, 1))
    ratio, allowed = their_total / our_total, tolerance(options.replicates)
    apart = max(_apart(row["ours"], row["rliable"]) for row in rows)
    result = {
        "versions": {name: version(name) for name in ("numpy", "scipy", "rliable", "arch", "pandas")},
        "shape": [SEEDS, ENVIRONMENTS, options.arms],
        "replicates": options.replicates,
        "seconds": {"ours": our_total, "rliable": their_total},
        "ratio": ratio,
        "apart": apart,
        "allowed": allowed,
        "arms": rows,
    }
    print(f"{options.arms} arms: {our_total:.2f} s, rliable {their_total:.1f} s, {ratio:.0f} times as long.")
    print(f"Ends of intervals lie at most {apart:.2%} of a width apart; chance allows {allowed:.2%}.")
    write_result(options.out, "rliable", result)
    return 0 if apart <= allowed else 1


def _compared(name: str, scores: np.ndarray, replicates: int) -> dict[str, Any]:
    """The intervals of an arm, ours and rliable's, and the seconds that each took."""
    intervals, seconds = [], []
    for interval_of in (ours, theirs):
        start = time.perf_counter()
        intervals.append(interval_of(scores, name, replicates))
        seconds.append(time.perf_counter() - start)
    print(f"{name}: {seconds[0]:.3f} s, rliable {seconds[1]:.1f} s", flush=True)
    return {"ours": intervals[0], "rliable": intervals[1], "seconds": seconds}


def _apart(our_interval: Interval, their_interval: Interval) -> float:
    """The largest distance between their ends, as a part of the width of rliable's."""
    width = their_interval[1] - their_interval[0]
    return max(abs(a - b) / width for a, b in zip(our_interval, their_interval, strict=True))


if __name__ == "__main__":
    leave(status_of(main))
