"""Whether agent=ppo_cleanrl, or agent=sac, learns as plain scripts do: their returns in the same environments.

    python -m launch.bench.agreement --store STORE --plain FOLDER [--cleanrl FOLDER] --out FOLDER [--agent sac]

Reads the runs of a store, the runs of `launch.bench.plain_ppo` or `plain_sac`, and the output of CleanRL's own script.
Writes agreement.md, a figure and its data, and the numbers taken from the runs: packed.json, plain.json, cleanrl.json.
Each of these files can be given in the place of its runs. With --published the store is compared with the printed
returns of CleanRL's own runs of PPO (MuJoCo's environments in their v4 forms).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from tabulate import tabulate

from analysis import load
from analysis.figures.drawing import Drawing, Marker, Panel, Series
from analysis.figures.files import csv_text
from analysis.figures.static import pictures
from analysis.statistics.summaries import half_width, mean_sd
from analysis.statistics.two_groups import welch
from launch.bench.choices import parser_of
from launch.bench.plain_ppo import ROLLOUT
from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.errors import ConfigError
from plasticity_lab.process.exits import leave, status_of
from plasticity_lab.records.damage import read_mapping
from plasticity_lab.records.files import write_atomically
from plasticity_lab.records.stage_returns import FINAL

PUBLISHED = {"HalfCheetah-v4": (1442.64, 46.03), "Walker2d-v4": (2287.95, 571.78), "Hopper-v4": (2382.86, 271.74)}
"""Mean and SD after a million steps, 3 seeds.  Source: CleanRL, docs/benchmark/ppo_continuous_action.md."""
SAME_RULES = {"HalfCheetah-v4": "HalfCheetah-v5"}
"""Environments with the same rules in two versions; returns of other versions cannot be compared."""
TITLES = {"ppo_cleanrl": "PPO", "sac": "SAC"}
"""The agents, and their names in figures."""
NAMES = {"packed": "packed", "plain": "plain script", "cleanrl": "CleanRL's own script"}
MARKERS: Mapping[str, Marker] = {"packed": "filled", "plain script": "hollow", "CleanRL's own script": "diamond"}
POINTS = 40
SOURCE = ("run", "seed", "commit", "dirty", "mode", "device", "cpu", "torch")
"""Columns of a packed run that its file keeps in addition to the numbers."""
EPISODE = re.compile(r"^global_step=(\d+), episodic_return=(\S+)$", re.MULTILINE)
"""The line that CleanRL's script prints of an episode."""
ROLLED = re.compile(r"^SPS: ", re.MULTILINE)
"""The beginning of the line that it prints after each rollout and its updates."""


@dataclass(frozen=True)
class ReturnCurve:
    """The returns of one run.

    steps: the length of the run. final: the mean return of the episodes that ended in its last part. course
    (`POINTS`,): the mean return in each of `POINTS` equal parts of the run; nan if no episode ended there. source: the
    origin of the run's numbers.
    """

    steps: int
    final: float
    course: NDArray[np.float64]
    source: Mapping[str, Any]

    @classmethod
    def of(cls, step: NDArray[np.float64], returns: NDArray[np.float64], steps: int, source: Mapping[str, Any]) -> Self:
        """The curve of a run from its episodes.  step: each episode's end. returns: each episode's return."""
        places = np.minimum((step - 1) * POINTS // steps, POINTS - 1).astype(int)
        sums, counts = np.bincount(places, returns, POINTS), np.bincount(places, minlength=POINTS)
        course = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        return cls(steps, float(returns[step > (1 - FINAL) * steps].mean()), course, source)


Curves = Mapping[str, list[ReturnCurve]]
"""Gymnasium's name of an environment → the runs on it."""


def read(path: Path, reader: Callable[[Path], dict[str, list[ReturnCurve]]]) -> dict[str, list[ReturnCurve]]:
    """The runs that the reader finds, or the runs in a JSON file that `kept` made.

    Raises ConfigError if the file does not exist or the reader finds no run, DamagedFile if the file cannot be read.
    """
    if path.suffix != ".json":
        return reader(path)
    value = read_mapping(path, "the command that wrote it writes it again, from the runs")
    if value is None:
        raise ConfigError(f"There is no {path}; name the folder or store of the runs, or the JSON file made from it.")
    return {
        body: [ReturnCurve(**run | {"course": np.array(run["course"], float)}) for run in runs]
        for body, runs in value.items()
    }


def kept(curves: Curves) -> bytes:
    """The content of a file for `read`: environment → its runs' numbers, as JSON; nan in a course is null."""

    def as_json(run: ReturnCurve) -> dict[str, Any]:
        return vars(run) | {"course": [mean if np.isfinite(mean) else None for mean in run.course]}

    return json.dumps({body: list(map(as_json, runs)) for body, runs in curves.items()}, indent=1).encode()


def packed(store: Path, agent: str = "ppo_cleanrl") -> dict[str, list[ReturnCurve]]:
    """The agent's finished runs in a store, on one environment each.  Raises ConfigError if the store has none."""
    runs, metrics = load(store, where={"agent": agent, "status": "done", "benchmark.tasks": 1})
    episodes = metrics.filter(pl.col("kind") == "episode").select("run", "step", "return").collect()
    ends = metrics.filter(pl.col("kind") == "task").select("run", "step").collect()
    curves: dict[str, list[ReturnCurve]] = {}
    for run in runs.unique("run").sort("benchmark.bodies", "seed").iter_rows(named=True):
        mine = episodes.filter(pl.col("run") == run["run"])
        steps = ends.filter(pl.col("run") == run["run"])["step"].item()
        source = {key: run[key] for key in SOURCE}
        curve = ReturnCurve.of(mine["step"].to_numpy(), mine["return"].to_numpy(), steps, source)
        curves.setdefault(BODIES[run["benchmark.bodies"].strip("[]")].gymnasium, []).append(curve)
    return curves


def plain(folder: Path) -> dict[str, list[ReturnCurve]]:
    """A plain script's runs, BODY_SEED.json each.  Raises ConfigError if the folder has none."""
    curves: dict[str, list[ReturnCurve]] = {}
    for path in sorted(folder.glob("*.json")):
        run = json.loads(path.read_text())
        step, returns, _ = np.array(run["episodes"], float).T
        made = run["provenance"]
        source = {"seed": run["seed"], **{key: made[key] for key in SOURCE if key in made}}
        source["torch"] = made["versions"]["torch"]
        curves.setdefault(run["body"], []).append(ReturnCurve.of(step, returns, run["steps"], source))
    if not curves:
        raise ConfigError(f"{folder} has no runs of a plain script; launch.bench.plain_ppo and plain_sac make them.")
    return curves


def cleanrl(folder: Path) -> dict[str, list[ReturnCurve]]:
    """The runs of CleanRL's ppo_continuous_action, BODY_SEED.log each.  Raises ConfigError if the folder has none."""
    curves: dict[str, list[ReturnCurve]] = {}
    for path in sorted(folder.glob("*.log")):
        body, _, seed = path.stem.rpartition("_")
        text = path.read_text()
        step, returns = np.array(EPISODE.findall(text), float).T
        steps = ROLLOUT * len(ROLLED.findall(text))
        curves.setdefault(body, []).append(ReturnCurve.of(step, returns, steps, {"seed": int(seed)}))
    if not curves:
        raise ConfigError(f"{folder} holds no logs of CleanRL's script, BODY_SEED.log each.")
    return curves


def interval(finals: Sequence[float]) -> tuple[float, float]:
    """Mean and half the width of its 95 % interval, by Student's t; nan for the width if there is one run."""
    return float(np.mean(finals)), float(half_width(np.array(finals)))


def in_words(ours: Curves, theirs: Mapping[str, Curves]) -> str:
    """The table of final returns, and below it the differences from the plain script.  theirs: label → its runs."""
    rows = []
    for label, curves in theirs.items():
        for body in [body for body in curves if body in ours]:
            a, b = ([run.final for run in runs[body]] for runs in (ours, curves))
            rows.append([body, label, _shown(b), len(b), _shown(a), len(a), *_overlap(a, b)])
    heads = ["body", "compared with", "its return", "seeds", "packed", "seeds", "intervals overlap", "Welch's p"]
    return "\n\n".join([_markdown(rows, heads), *differences(ours, theirs.get(NAMES["plain"], {}))])


def _markdown(rows: Sequence[Sequence[Any]], heads: Sequence[str]) -> str:
    return tabulate(rows, heads, tablefmt="github", disable_numparse=True)


def differences(ours: Curves, theirs: Curves) -> list[str]:
    """A line for each environment that both have: the difference of mean final returns as a share of theirs.

    Its 90 % interval is Welch's; the script's mean is taken as exact.
    """
    from scipy.stats import t as student_t  # slow to import; see `two_groups`

    lines = []
    for body in [body for body in theirs if body in ours]:
        a, b = (np.array([run.final for run in runs[body]]) for runs in (ours, theirs))
        df = welch(a, b).df
        if df is None:
            continue
        half = float(student_t.ppf(0.95, df)) * float(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)) ** 0.5
        share, width = (100 * value / float(b.mean()) for value in (float(a.mean() - b.mean()), half))
        interval_90 = f"[{share - width:+.1f}, {share + width:+.1f}]"
        lines.append(f"{body}: packed is {share:+.1f} % {interval_90} of the plain script.")
    return lines


def _shown(finals: Sequence[float]) -> str:
    mean, half = interval(finals)
    return f"{mean:,.0f}" if np.isnan(half) else f"{mean:,.0f} ± {half:,.0f}"


def _overlap(a: Sequence[float], b: Sequence[float]) -> tuple[str, str]:
    """Whether the intervals overlap, and Welch's p; two empty strings if one side has a single run."""
    (mean_a, half_a), (mean_b, half_b) = interval(a), interval(b)
    p = welch(a, b).p
    if p is None:
        return "", ""
    return "yes" if abs(mean_a - mean_b) <= half_a + half_b else "no", f"{p:.2f}"


def table_of_published(named: Mapping[str, Curves]) -> str:
    """Final returns next to CleanRL's printed ones, mean ± SD (seeds), in Markdown.  named: label → its runs."""
    rows = []
    for body, (mean, sd) in PUBLISHED.items():
        row = [body, f"{mean:,.0f} ± {sd:,.0f} (3)"]
        for curves in named.values():
            final = mean_sd([run.final for run in curves.get(body) or curves.get(SAME_RULES.get(body, ""), [])])
            spread = "" if final.sd is None else f" ± {final.sd:,.0f}"
            row.append(f"{final.mean:,.0f}{spread} ({final.n})" if final.n else "")
        rows.append(row)
    return _markdown(rows, ["body", "CleanRL, as published (seeds)", *named])


def drawing(named: Mapping[str, Curves], agent: str = "ppo_cleanrl") -> Drawing:
    """Curves for each environment with at least two labels: the mean over runs with their SD.  named: label → its runs.

    Raises ConfigError if the runs on one environment differ in length.
    """
    panels = []
    for body in next(iter(named.values())):
        runs_of = {label: curves[body] for label, curves in named.items() if body in curves}
        if len(runs_of) < min(2, len(named)):
            continue
        if len({run.steps for runs in runs_of.values() for run in runs}) > 1:
            raise ConfigError(f"The runs on {body} differ in length; compare runs of one length.")
        series = [_series(label, runs) for label, runs in runs_of.items()]
        panels.append(Panel(body, "steps of the run", "Return (reward)", series, band=True))
    caption = f"Mean over seeds ± 1 SD over them, in {POINTS} parts of a run."
    return Drawing("agreement", f"{TITLES[agent]}, packed and by plain scripts", panels, [caption])


def _series(label: str, runs: Sequence[ReturnCurve]) -> Series:
    courses = np.array([run.course for run in runs])
    known = np.isfinite(courses).all(axis=0)
    courses, steps = courses[:, known], runs[0].steps * (np.flatnonzero(known) + 0.5) / POINTS
    spread = courses.std(axis=0, ddof=1) if len(courses) > 1 else np.zeros(len(steps))
    return Series(
        label=label,
        key="",
        x=steps.tolist(),
        y=courses.mean(axis=0).tolist(),
        y_sd=spread.tolist(),
        n=[len(courses)] * len(steps),
        marker=MARKERS[label],
    )


def main() -> None:
    """The command."""
    parser = parser_of("agreement", __doc__)
    parser.add_argument("--agent", choices=TITLES, default="ppo_cleanrl")
    parser.add_argument("--store", type=Path, required=True, help="required: store of the packed runs, or packed.json")
    parser.add_argument("--plain", type=Path, help="folder of the plain script's runs, or plain.json")
    parser.add_argument("--cleanrl", type=Path, help="folder of CleanRL's logs, BODY_SEED.log each, or cleanrl.json")
    parser.add_argument("--published", action="store_true", help="compare with CleanRL's printed numbers")
    parser.add_argument("--out", type=Path, default=Path("bench_results"), help="folder for the table and the figure")
    options = parser.parse_args()
    paths = {"packed": options.store, "plain": options.plain, "cleanrl": options.cleanrl}
    readers = {"packed": partial(packed, agent=options.agent), "plain": plain, "cleanrl": cleanrl}
    curves = {name: read(path, readers[name]) for name, path in paths.items() if path}
    if len(curves) == 1 and not options.published:
        raise ConfigError("Name the runs to compare the store with: --plain FOLDER, --cleanrl FOLDER, or --published.")
    named = {NAMES[name]: runs for name, runs in curves.items()}
    others = {NAMES[name]: runs for name, runs in curves.items() if name != "packed"}
    text = table_of_published(named) if options.published else in_words(curves["packed"], others)
    print(text)
    drawn = drawing(named, options.agent)
    files = {f"agreement.{ending}": content for ending, content in pictures(drawn).items() if ending != "pdf"}
    files |= {"agreement.csv": csv_text(drawn).encode(), "agreement.md": f"{text}\n".encode()}
    files |= {f"{name}.json": kept(runs) for name, runs in curves.items()}
    for name, content in files.items():
        write_atomically(options.out / name, content)


if __name__ == "__main__":
    leave(status_of(main))
