"""Whether agent=ppo_cleanrl, or agent=sac, learns as plain scripts do: their returns on the same bodies, side by side.

    python -m launch.bench.agreement --store STORE --plain FOLDER [--cleanrl FOLDER] --out FOLDER [--agent sac]

Reads the runs of a store, those of `launch.bench.plain_ppo` or `plain_sac`, and what CleanRL's own script printed, and
leaves agreement.md, a figure and its data, and what these take of the runs, in packed.json, plain.json and
cleanrl.json, each of which serves in the place of what it was made of. With --published it compares the store with what
is printed of CleanRL's own runs of PPO (MuJoCo's bodies in their v4 forms).
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from tabulate import tabulate

from analysis.figures.drawing import Drawing, Marker, Panel, Series
from analysis.figures.numbers import csv_text
from analysis.figures.static import pictures
from analysis.statistics.summaries import half_width, mean_sd
from analysis.statistics.welch import welch
from launch.bench.run_returns import POINTS, ReturnCurve, cleanrl, kept, packed, plain, read
from plasticity_lab.errors import ConfigError
from plasticity_lab.process.exits import status_of
from plasticity_lab.records.files import write_atomically

PUBLISHED = {"HalfCheetah-v4": (1442.64, 46.03), "Walker2d-v4": (2287.95, 571.78), "Hopper-v4": (2382.86, 271.74)}
"""Mean and SD after a million steps, 3 seeds.  Source: CleanRL, docs/benchmark/ppo_continuous_action.md."""
TITLES = {"ppo_cleanrl": "PPO", "sac": "SAC"}
"""The agents, and what figures call them."""
NAMES = {"packed": "packed", "plain": "plain script", "cleanrl": "CleanRL's own script"}
MARKERS: tuple[Marker, ...] = ("filled", "hollow", "diamond")
"""Of them, in their order."""
SAME_RULES = {"HalfCheetah-v4": "HalfCheetah-v5"}
"""Bodies of which two versions have the same rules; of all others returns cannot be compared."""


def interval(finals: Sequence[float]) -> tuple[float, float]:
    """Mean and half the width of its 95 % interval, by Student's t; nan for the width of one run's."""
    return float(np.mean(finals)), float(half_width(np.array(finals))) if len(finals) > 1 else np.nan


def in_words(ours: Mapping[str, list[ReturnCurve]], theirs: Mapping[str, Mapping[str, list[ReturnCurve]]]) -> str:
    """The table, and below it the differences to the plain script."""
    return "\n\n".join([table(ours, theirs), *differences(ours, theirs.get(NAMES["plain"], {}))])


def table(ours: Mapping[str, list[ReturnCurve]], theirs: Mapping[str, Mapping[str, list[ReturnCurve]]]) -> str:
    """Final returns with their 95 % intervals, beside those of each other script by its name, in Markdown."""
    rows = []
    for label, of in theirs.items():
        for body in [body for body in of if body in ours]:
            a, b = ([run.final for run in runs[body]] for runs in (ours, of))
            rows.append([body, label, _said(b), len(b), _said(a), len(a), *_apart(a, b)])
    heads = ["body", "compared with", "its return", "seeds", "packed", "seeds", "intervals overlap", "Welch's p"]
    return tabulate(rows, heads, tablefmt="github", disable_numparse=True)


def differences(ours: Mapping[str, list[ReturnCurve]], theirs: Mapping[str, list[ReturnCurve]]) -> list[str]:
    """A line for each body that both have: the difference of mean final returns as a share of theirs, with its 90 %
    interval, Welch's by degrees of freedom; the script's mean is taken as it is.
    """
    from scipy.stats import t as student_t  # slow to import; see `welch`

    said = []
    for body in [body for body in theirs if body in ours]:
        a, b = (np.array([run.final for run in runs[body]]) for runs in (ours, theirs))
        df = welch(a, b).df
        if df is None:
            continue
        half = float(student_t.ppf(0.95, df)) * float(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)) ** 0.5
        share, width = (100 * value / float(b.mean()) for value in (float(a.mean() - b.mean()), half))
        said.append(
            f"{body}: packed is {share:+.1f} % [{share - width:+.1f}, {share + width:+.1f}] of the plain script."
        )
    return said


def _said(finals: Sequence[float]) -> str:
    mean, half = interval(finals)
    return f"{mean:,.0f}" if np.isnan(half) else f"{mean:,.0f} ± {half:,.0f}"


def _apart(a: Sequence[float], b: Sequence[float]) -> tuple[str, str]:
    """Whether their intervals overlap, and Welch's p; empty where one of them has a single run."""
    (mean_a, half_a), (mean_b, half_b) = interval(a), interval(b)
    p = welch(a, b).p
    if p is None:
        return "", ""
    return "yes" if abs(mean_a - mean_b) <= half_a + half_b else "no", f"{p:.2f}"


def table_beside_published(named: Mapping[str, Mapping[str, list[ReturnCurve]]]) -> str:
    """Final returns beside those that CleanRL prints, mean ± SD (seeds), in Markdown.  named: whose → body → runs."""
    rows = []
    for body, (mean, sd) in PUBLISHED.items():
        row = [body, f"{mean:,.0f} ± {sd:,.0f} (3)"]
        for of in named.values():
            own = mean_sd([run.final for run in of.get(body) or of.get(SAME_RULES.get(body, ""), [])])
            spread = "" if own.sd is None else f" ± {own.sd:,.0f}"
            row.append(f"{own.mean:,.0f}{spread} ({own.n})" if own.n else "")
        rows.append(row)
    heads = ["body", "CleanRL, as published (seeds)", *named]
    return tabulate(rows, heads, tablefmt="github", disable_numparse=True)


def drawing(named: Mapping[str, Mapping[str, list[ReturnCurve]]], agent: str = "ppo_cleanrl") -> Drawing:
    """Curves of each body that two of them have, the mean over runs with their SD."""
    panels = []
    for body in next(iter(named.values())):
        series = []
        having = {label: of for label, of in named.items() if body in of}
        if len(having) < min(2, len(named)):
            continue
        if len({run.steps for of in having.values() for run in of[body]}) > 1:
            raise ConfigError(f"The runs on {body} are not equally long; compare those of one length.")
        for label, of in having.items():
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
                    marker=MARKERS[list(NAMES.values()).index(label)],
                )
            )
        panels.append(Panel(body, "steps of the run", "Return (reward)", series, band=True))
    said = f"Mean over seeds ± 1 SD over them, in {POINTS} parts of a run."
    return Drawing("agreement", f"{TITLES[agent]}, packed and by plain scripts", panels, [said])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command.  Returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m launch.bench.agreement", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--agent", choices=TITLES, default="ppo_cleanrl")
    parser.add_argument(
        "--store",
        type=Path,
        required=True,
        help="store with runs of experiment=ppo_cleanrl or sac_halfcheetah, or packed.json; required",
    )
    parser.add_argument("--plain", type=Path, help="folder of the plain script's runs, or plain.json")
    parser.add_argument("--cleanrl", type=Path, help="folder of CleanRL's logs, BODY_SEED.log each, or cleanrl.json")
    parser.add_argument("--published", action="store_true", help="beside CleanRL's printed numbers")
    parser.add_argument("--out", type=Path, default=Path("bench_results"), help="folder for the table and the figure")
    return status_of(lambda: _compared(parser.parse_args(arguments)))


def _compared(options: argparse.Namespace) -> int:
    ours_of = partial(packed, agent=options.agent)
    given = {"packed": (options.store, ours_of), "plain": (options.plain, plain), "cleanrl": (options.cleanrl, cleanrl)}
    runs = {name: read(path, reader) for name, (path, reader) in given.items() if path}
    if len(runs) == 1 and not options.published:
        raise ConfigError("Say with what the store is compared: --plain FOLDER, --cleanrl FOLDER, or --published.")
    ours, *theirs = ((NAMES[name], of) for name, of in runs.items())
    named = dict([ours, *theirs])
    text = table_beside_published(named) if options.published else in_words(ours[1], dict(theirs))
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    drawn = drawing(named, options.agent)
    files = {f"agreement.{ending}": content for ending, content in pictures(drawn).items() if ending != "pdf"}
    files |= {"agreement.csv": csv_text(drawn).encode(), "agreement.md": f"{text}\n".encode()}
    files |= {f"{name}.json": kept(of) for name, of in runs.items()}
    for name, content in files.items():
        write_atomically(options.out / name, content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
