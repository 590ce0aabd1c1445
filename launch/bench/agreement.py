"""Whether agent=ppo_cleanrl learns as the plain script does: their returns on the same bodies, side by side.

    python -m launch.bench.agreement --plain FOLDER --store STORE --out FOLDER

Reads the runs of `launch.bench.plain_ppo` and those of a store, and leaves agreement.md, a figure and its data, and
packed.json, what these take of the store's runs: --store takes such a file too, when the store is gone. With
--published it compares the store with what is printed of CleanRL's own runs (MuJoCo's bodies in their v4 forms).
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from tabulate import tabulate

from analysis import load
from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.numbers import csv_text
from analysis.figures.static import pictures
from analysis.statistics.summaries import half_width, mean_sd
from analysis.statistics.welch import welch
from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.errors import ConfigError
from plasticity_lab.exits import status_of
from plasticity_lab.records.damage import read_mapping
from plasticity_lab.records.files import write_atomically
from plasticity_lab.records.stage_returns import FINAL

POINTS = 40
PUBLISHED = {"HalfCheetah-v4": (1442.64, 46.03), "Walker2d-v4": (2287.95, 571.78), "Hopper-v4": (2382.86, 271.74)}
"""Mean and SD after a million steps, 3 seeds.  Source: CleanRL, docs/benchmark/ppo_continuous_action.md."""
SAME_RULES = {"HalfCheetah-v4": "HalfCheetah-v5"}
"""Bodies of which two versions have the same rules; of all others returns cannot be compared."""
SOURCE = ("run", "seed", "commit", "dirty", "mode", "device", "cpu", "torch")
"""What is kept of a packed run's record beside its numbers."""


@dataclass(frozen=True)
class Learned:
    """What one run has learned.

    steps: of the whole run. final: the mean return of the episodes that ended in its last part. course (`POINTS`,): the
    same of each of so many equal parts; nan where none ended. source: what the run's numbers can be traced to.
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


def plain(folder: Path) -> dict[str, list[Learned]]:
    """Gymnasium's name of a body → the plain script's runs on it.  Raises ConfigError if the folder has none."""
    found: dict[str, list[Learned]] = {}
    for path in sorted(folder.glob("*.json")):
        run = json.loads(path.read_text())
        step, returns, _ = np.array(run["episodes"], float).T
        found.setdefault(run["body"], []).append(Learned.of(step, returns, run["steps"], run["provenance"]))
    if not found:
        raise ConfigError(f"{folder} holds no runs of the plain script; `python -m launch.bench.plain_ppo` makes them.")
    return found


def packed(store: Path) -> dict[str, list[Learned]]:
    """The same for the runs of a store that are done, on one body each.  Raises ConfigError if it has none of those.

    store: or a packed.json, which `kept` wrote of one.  Raises DamagedFile where it cannot be read.
    """
    if store.suffix == ".json":
        return _read(store)
    runs, metrics = load(store, where={"agent": "ppo_cleanrl", "status": "done", "benchmark.tasks": 1})
    episodes = metrics.filter(pl.col("kind") == "episode").select("run", "step", "return").collect()
    ends = metrics.filter(pl.col("kind") == "task").select("run", "step").collect()
    found: dict[str, list[Learned]] = {}
    for run in runs.unique("run").sort("benchmark.bodies", "seed").iter_rows(named=True):
        own = episodes.filter(pl.col("run") == run["run"])
        steps = ends.filter(pl.col("run") == run["run"])["step"].item()
        learned = Learned.of(own["step"].to_numpy(), own["return"].to_numpy(), steps, {key: run[key] for key in SOURCE})
        found.setdefault(BODIES[run["benchmark.bodies"].strip("[]")].gymnasium, []).append(learned)
    return found


def kept(runs: Mapping[str, list[Learned]]) -> bytes:
    """Body → its runs' numbers, as JSON; null in a course is nan."""
    found = {
        body: [vars(run) | {"course": [mean if np.isfinite(mean) else None for mean in run.course]} for run in of]
        for body, of in runs.items()
    }
    return json.dumps(found, indent=1).encode()


def _read(path: Path) -> dict[str, list[Learned]]:
    value = read_mapping(path, "the command that wrote it writes it anew, from the store")
    if value is None:
        raise ConfigError(f"There is no {path}; --store names a store, or the packed.json that was made of one.")
    return {
        body: [Learned(**run | {"course": np.array(run["course"], float)}) for run in of] for body, of in value.items()
    }


def interval(finals: Sequence[float]) -> tuple[float, float]:
    """Mean and half the width of its 95 % interval, by Student's t.  Raises ConfigError for fewer than two runs."""
    if len(finals) < 2:
        raise ConfigError("There is no interval of fewer than two runs; train more seeds.")
    return float(np.mean(finals)), float(half_width(np.array(finals)))


def table(ours: Mapping[str, list[Learned]], theirs: Mapping[str, list[Learned]]) -> str:
    """Final returns with their 95 % intervals, in Markdown."""
    rows = []
    for body in [body for body in theirs if body in ours]:
        a, b = ([run.final for run in of[body]] for of in (ours, theirs))
        (mean_a, half_a), (mean_b, half_b) = interval(a), interval(b)
        overlap = "yes" if abs(mean_a - mean_b) <= half_a + half_b else "no"
        p = welch(a, b).p
        rows.append([body, f"{mean_b:,.0f} ± {half_b:,.0f}", len(b), f"{mean_a:,.0f} ± {half_a:,.0f}", len(a), overlap,
                     "" if p is None else f"{p:.2f}"])  # fmt: skip
    heads = ["body", "plain script", "seeds", "packed", "seeds", "intervals overlap", "Welch's p"]
    return tabulate(rows, heads, tablefmt="github", disable_numparse=True)


def table_beside_published(ours: Mapping[str, list[Learned]]) -> str:
    """Final returns beside CleanRL's, mean ± SD, in Markdown."""
    rows = []
    for body, (mean, sd) in PUBLISHED.items():
        runs = ours.get(body) or ours.get(SAME_RULES.get(body, ""))
        if runs:
            own = mean_sd([run.final for run in runs])
            rows.append([body, f"{mean:,.0f} ± {sd:,.0f}", f"{own.mean:,.0f} ± {own.sd or 0:,.0f}", own.n])
    heads = ["body", "CleanRL, as published (3 seeds)", "packed", "seeds"]
    return tabulate(rows, heads, tablefmt="github", disable_numparse=True)


def drawing(named: Mapping[str, Mapping[str, list[Learned]]]) -> Drawing:
    """Curves of each body that all have, the mean over runs with their SD."""
    bodies = [body for body in next(iter(named.values())) if all(body in of for of in named.values())]
    panels = []
    for body in bodies:
        series = []
        for label, of in named.items():
            if len({run.steps for runs in (of[body], next(iter(named.values()))[body]) for run in runs}) > 1:
                raise ConfigError(f"The runs on {body} are not equally long; compare those of one length.")
            courses = np.array([run.course for run in of[body]])
            steps = of[body][0].steps * (np.arange(POINTS) + 0.5) / POINTS
            there = np.isfinite(courses).all(axis=0)
            spread = courses[:, there].std(axis=0, ddof=1) if len(courses) > 1 else np.zeros(there.sum())
            series.append(
                Series(
                    label=label,
                    key="",
                    x=steps[there].tolist(),
                    y=courses[:, there].mean(axis=0).tolist(),
                    y_sd=spread.tolist(),
                    n=[len(courses)] * int(there.sum()),
                    marker="hollow" if series else "filled",
                )
            )
        panels.append(Panel(body, "steps of the run", "Return (reward)", series, band=True))
    said = f"Mean over seeds ± 1 SD over them, in {POINTS} parts of a run."
    return Drawing("agreement", "PPO, packed and plain", panels, [said])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command.  Returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m launch.bench.agreement", description=__doc__.split("\n")[0])
    parser.add_argument("--plain", type=Path, help="folder of the plain script's runs")
    parser.add_argument(
        "--store", type=Path, required=True, help="store with runs of experiment=ppo_cleanrl, or packed.json"
    )
    parser.add_argument("--published", action="store_true", help="beside CleanRL's printed numbers")
    parser.add_argument("--out", type=Path, default=Path("bench_results"), help="folder for the table and the figure")
    return status_of(lambda: _compared(parser.parse_args(arguments)))


def _compared(options: argparse.Namespace) -> int:
    if not (options.plain or options.published):
        raise ConfigError("Say with what the store is compared: --plain FOLDER, or --published.")
    ours = packed(options.store)
    named = {"packed": ours} | ({"plain script": plain(options.plain)} if options.plain else {})
    text = table_beside_published(ours) if options.published else table(ours, named.get("plain script", {}))
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    drawn = drawing(named)
    files = {f".{ending}": content for ending, content in pictures(drawn).items() if ending != "pdf"}
    for ending, content in {**files, ".csv": csv_text(drawn).encode(), ".md": f"{text}\n".encode()}.items():
        write_atomically(options.out / f"agreement{ending}", content)
    if options.store.suffix != ".json":
        write_atomically(options.out / "packed.json", kept(ours))
    return 0


if __name__ == "__main__":
    sys.exit(main())
