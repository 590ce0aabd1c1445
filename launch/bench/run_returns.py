"""What runs on one body have learned, read from where they are: a store, a plain script's folder, CleanRL's own logs.

Where these are large or gone, a file of JSON that `kept` wrote of them serves as well.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis import load
from launch.bench.plain_ppo import ROLLOUT
from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.damage import read_mapping
from plasticity_lab.records.stage_returns import FINAL

POINTS = 40
SOURCE = ("run", "seed", "commit", "dirty", "mode", "device", "cpu", "torch")
"""What is kept of a packed run's record beside its numbers."""
EPISODE = re.compile(r"^global_step=(\d+), episodic_return=(\S+)$", re.MULTILINE)
"""What CleanRL's script prints of an episode."""
ROLLED = re.compile(r"^SPS: ", re.MULTILINE)
"""What it prints after each rollout and its updates."""


@dataclass(frozen=True)
class ReturnCurve:
    """What one run has learned.

    steps: of the whole run. final: the mean return of the episodes that ended in its last part. course (`POINTS`,): the
    same of each of a number of equal parts; nan where none ended. source: what the run's numbers can be traced to.
    """

    steps: int
    final: float
    course: NDArray[np.float64]
    source: Mapping[str, Any]

    @classmethod
    def of(cls, step: NDArray[np.float64], returns: NDArray[np.float64], steps: int, source: Mapping[str, Any]) -> Self:
        """From its episodes: the steps at which they ended, and their returns."""
        places = np.minimum((step - 1) * POINTS // steps, POINTS - 1).astype(int)
        sums, counts = np.bincount(places, returns, POINTS), np.bincount(places, minlength=POINTS)
        course = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        return cls(steps, float(returns[step > (1 - FINAL) * steps].mean()), course, source)


def read(path: Path, reader: Callable[[Path], dict[str, list[ReturnCurve]]]) -> dict[str, list[ReturnCurve]]:
    """Gymnasium's name of a body → the runs on it, by the reader, or from a file of JSON that `kept` wrote of them.

    Raises ConfigError where there are none; DamagedFile where the file cannot be read.
    """
    if path.suffix != ".json":
        return reader(path)
    value = read_mapping(path, "the command that wrote it writes it anew, from the runs")
    if value is None:
        raise ConfigError(f"There is no {path}; name what holds the runs, or the file of JSON that was made of it.")
    return {
        body: [ReturnCurve(**run | {"course": np.array(run["course"], float)}) for run in of]
        for body, of in value.items()
    }


def kept(runs: Mapping[str, list[ReturnCurve]]) -> bytes:
    """What `read` reads again: body → its runs' numbers, as JSON; null in a course is nan."""
    found = {
        body: [vars(run) | {"course": [mean if np.isfinite(mean) else None for mean in run.course]} for run in of]
        for body, of in runs.items()
    }
    return json.dumps(found, indent=1).encode()


def packed(store: Path, agent: str = "ppo_cleanrl") -> dict[str, list[ReturnCurve]]:
    """The agent's runs of a store that are done, on one body each.  Raises ConfigError if it has none of those."""
    runs, metrics = load(store, where={"agent": agent, "status": "done", "benchmark.tasks": 1})
    episodes = metrics.filter(pl.col("kind") == "episode").select("run", "step", "return").collect()
    ends = metrics.filter(pl.col("kind") == "task").select("run", "step").collect()
    found: dict[str, list[ReturnCurve]] = {}
    for run in runs.unique("run").sort("benchmark.bodies", "seed").iter_rows(named=True):
        own = episodes.filter(pl.col("run") == run["run"])
        steps = ends.filter(pl.col("run") == run["run"])["step"].item()
        learned = ReturnCurve.of(
            own["step"].to_numpy(), own["return"].to_numpy(), steps, {key: run[key] for key in SOURCE}
        )
        found.setdefault(BODIES[run["benchmark.bodies"].strip("[]")].gymnasium, []).append(learned)
    return found


def plain(folder: Path) -> dict[str, list[ReturnCurve]]:
    """A plain script's runs, BODY_SEED.json each.  Raises ConfigError if the folder has none."""
    found: dict[str, list[ReturnCurve]] = {}
    for path in sorted(folder.glob("*.json")):
        run = json.loads(path.read_text())
        step, returns, _ = np.array(run["episodes"], float).T
        made = run["provenance"]
        source = {
            "seed": run["seed"],
            **{key: made[key] for key in SOURCE if key in made},
            "torch": made["versions"]["torch"],
        }
        found.setdefault(run["body"], []).append(ReturnCurve.of(step, returns, run["steps"], source))
    if not found:
        raise ConfigError(
            f"{folder} holds no runs of a plain script; `python -m launch.bench.plain_ppo` and plain_sac make them."
        )
    return found


def cleanrl(folder: Path) -> dict[str, list[ReturnCurve]]:
    """What CleanRL's ppo_continuous_action printed, BODY_SEED.log each.  Raises ConfigError if the folder has none."""
    found: dict[str, list[ReturnCurve]] = {}
    for path in sorted(folder.glob("*.log")):
        body, _, seed = path.stem.rpartition("_")
        text = path.read_text()
        step, returns = np.array(EPISODE.findall(text), float).T
        steps = ROLLOUT * len(ROLLED.findall(text))
        found.setdefault(body, []).append(ReturnCurve.of(step, returns, steps, {"seed": int(seed)}))
    if not found:
        raise ConfigError(f"{folder} holds no logs of CleanRL's script, BODY_SEED.log each.")
    return found
