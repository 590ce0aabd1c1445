"""Show one run: its settings, its provenance, its summary, and its curve.

    python -m launch show 1a2b                      the curve in the terminal
    python -m launch show 1a2b --out curve.png      all its curves as a picture
    python -m launch show 1a2b --follow             the curve in the terminal, drawn again until the run has ended

An unfinished run is shown up to its pack's last checkpoint.
"""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from analysis.outcomes import over_tasks, some_tasks, why_without
from launch.packs.lease_files import LeaseFiles
from launch.packs.lookup import add_config_dir, add_store, plans_to_read, runs_of, store_there, the_one
from launch.packs.owner import Owner
from launch.packs.progress import read_pause
from launch.runs.groups import COMPONENTS
from launch.wording import counted, flagged, say
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.measures import Column, Declared, Measures
from plasticity_lab.records.plan import Pack, Plan
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.record_facts import CorruptRecord, check_files, flags_of
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import measures_of

NOTHING_YET = "Nothing has been measured yet: no epoch has ended."
NOTHING = "Nothing was measured: the run ended before an epoch did."
HEIGHT = 24
"""Lines of a curve in a terminal at most."""
SECTIONS = ("science", "besides", "asked_as", "summary", "provenance")


@dataclass(frozen=True)
class Shown:
    """One run, to be shown.

    state: in a line. sections: heading → printed values. metrics: of the curve; None if nothing was measured yet.
    declared: the columns of the metrics. diverged_at: the step at which it diverged. damaged: the fault of
    its metrics. in_training: whether it has not ended.
    """

    state: str
    sections: Mapping[str, Any]
    metrics: pa.Table | None
    declared: Declared
    diverged_at: int | None
    damaged: CorruptRecord | None = None
    in_training: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument("named", metavar="run", help="the run's id, or its beginning")
    add_store(parser)
    add_config_dir(parser)
    parser.add_argument("--out", type=Path, help="draw its curves as a picture, into this PNG")
    parser.add_argument("--follow", action="store_true", help="draw the curve in the terminal until the run has ended")
    parser.add_argument("--every", type=float, default=5.0, metavar="SECONDS", help="of --follow; default 5")


def run(options: argparse.Namespace) -> None:
    """The command.  Raises StoreError."""
    store = store_there(options.store)
    plans = plans_to_read(store)
    name = the_one(options.named, runs_of(store, plans), "run", store)
    if options.follow:
        _follow(store, name, options.every)
        return
    shown = _recorded(store, name) or _planned(store, name, plans)
    print(f"Run {name}: {shown.state}")
    columns = min(120, shutil.get_terminal_size((120, HEIGHT)).columns)
    print(yaml.safe_dump(dict(shown.sections), sort_keys=False, allow_unicode=True, width=columns), end="")
    if store.film(name).is_file():
        print(f"Film: {store.film(name)}")
    if shown.damaged:
        raise shown.damaged
    if shown.metrics is None or not len(shown.metrics):
        print(NOTHING_YET if shown.in_training else NOTHING)
        return
    if options.out is None:
        coloured = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        print(f"\n{_in_letters(shown, name, shutil.get_terminal_size(), coloured)}")
        return
    from analysis.figures.curve import draw_curve  # Matplotlib, half a second

    draw_curve(options.out, shown.metrics, shown.declared, _title(name, shown), shown.diverged_at)
    print(f"Curve: {options.out}")


def _follow(store: Store, run: str, seconds: float) -> None:
    """Redraws a run's state and curve until it has ended; in a pipe it draws the curve once, at the end.

    Raises ConfigError for no time; StoreError.
    """
    if not 0 < seconds <= 86400:
        raise ConfigError(f"--every {seconds:g} is no time in seconds; it must be above 0.")
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console, before = Console(), ""
    with Live(console=console, auto_refresh=False) as live:
        while True:
            shown = _recorded(store, run) or _planned(store, run, plans_to_read(store))
            words = (
                f"Run {run}: {shown.state}\n{_in_letters(shown, run, console.size, console.color_system is not None)}"
            )
            live.update(Text.from_ansi(words), refresh=True)
            if not console.is_terminal and shown.state != before and shown.in_training:
                say(f"Run {run}: {shown.state}")  # the curve comes at the end
                before = shown.state
            if not shown.in_training:
                return
            time.sleep(seconds)


def _in_letters(shown: Shown, run: str, size: tuple[int, int], colours: bool) -> str:
    """The curve so far, in the size of the window.  Raises CorruptRecord."""
    if shown.damaged:
        raise shown.damaged
    if shown.metrics is None or not len(shown.metrics):
        return NOTHING_YET if shown.in_training else NOTHING
    from analysis.figures.curve import terminal_curve

    width, height = size
    return terminal_curve(shown.metrics, shown.declared, _title(run, shown), width, min(height - 3, HEIGHT), colours)


def _recorded(store: Store, run: str) -> Shown | None:
    """A run that has ended."""
    record = read_record(store, run)
    if record is None:
        return None
    diverged_at = record.get("diverged_at_step")
    step = diverged_at or record.get("stopped_at_step")
    state = flagged(record["status"] + (f" at step {step:,}" if step else ""), flags_of(record))
    state += _without(record)
    if record["error"]:
        state += f":\n{record['error'].rstrip()}\n"
    sections = {part: record[part] for part in SECTIONS if record.get(part)}
    metrics, damaged = None, None
    try:
        check_files(store, record)
        metrics = read_metrics(store, run)
    except CorruptRecord as error:
        damaged = error
    return Shown(state, sections, metrics, declared_in(record), diverged_at, damaged)


def _without(record: Mapping[str, Any]) -> str:
    """The missing numbers of a finished run, to follow its state."""
    if record["status"] != "done":
        return ""
    if tasks := some_tasks(record["summary"]):
        return f"; an episode ended in {over_tasks([tasks])} tasks, over which its means over tasks are"
    headline = declared_in(record).headline
    why = why_without("done", record["summary"], headline)
    if why == "no_episode":  # current records have a flag for it
        return "" if "no_episode" in flags_of(record) else "; no episode ended in it"
    return f"; it has no value of {headline}" if why else ""


def _planned(store: Store, run: str, plans: list[Plan]) -> Shown:
    """A run that has not ended: it waits, or its pack is being trained."""
    planned = [(plan, pack) for plan in plans for pack in plan.packs if run in pack.runs]
    planned = [(plan, pack) for plan, pack in planned if not store.done(pack.id).exists()] or planned
    if not planned:
        raise StoreError(f"Run {run} has no record in {store.root} that can be read; give its command again.")
    plan, pack = planned[-1]
    held = LeaseFiles(store).held([pack.id], plan.settings.launch.lease_seconds)
    state = _in_training(store, pack.id, held[pack.id].owner) if held else _why_it_waits(store, plan)
    measures = measures_of(plan.runs[run].targets, plan.runs[run].science)
    measures, table, diverged_at = _so_far(store, pack, run, measures)
    sections = {"science": plan.runs[run].science, "asked_as": plan.runs[run].asked_as}
    length = f"{pack.steps:,} {pack.unit}"
    sections["pack"] = {"id": pack.id, "runs": pack.width, "length": length, "mode": pack.mode, "kind": pack.kind}
    return Shown(state, sections, table, measures.declared, diverged_at, in_training=True)


def _in_training(store: Store, pack: str, owner: Owner | None) -> str:
    pause = read_pause(store, pack)
    return f"in training by {owner}" if pause is None else f"{pause.words}, by {owner}, which trains it then"


def _why_it_waits(store: Store, plan: Plan) -> str:
    """The state of a run whose pack no worker holds: whether any worker may take it."""
    others = [pack.id for pack in plan.packs if not store.done(pack.id).exists()]
    if held := len(LeaseFiles(store).held(others, plan.settings.launch.lease_seconds)):
        return f"waiting for one of the workers of sweep {plan.sweep}, which train {counted(held, 'other pack')} now"
    return f"waiting: no worker trains sweep {plan.sweep}; the same command goes on, and so does `launch resume`"


def _so_far(store: Store, pack: Pack, run: str, measures: Measures) -> tuple[Measures, pa.Table | None, int | None]:
    """A run's measures, its metrics until the last checkpoint of its pack, and the step at which it diverged, if any.

    The measures include the columns of its diagnostics, which the checkpoint names.
    """
    from plasticity_lab.records.checkpoint import load_checkpoint  # torch
    from plasticity_lab.records.journal import Journal

    begun = load_checkpoint(store, pack.id)
    if begun is None:
        return measures, None, None
    known = {column.name for column in measures.columns}
    columns = map(Column.from_json, begun["columns"])
    measures = measures.with_columns([column for column in columns if column.name not in known])
    journal, k = Journal(pack.width, measures), pack.runs.index(run)
    journal.load(begun["journal"])
    return measures, journal.table(k), int(journal.diverged[k]) or None


def _title(run: str, shown: Shown) -> str:
    science = shown.sections["science"]
    named = [group for group, declared in COMPONENTS.items() if group in science and declared.neutral is not None]
    chosen = {group: science[group]["name"] for group in ("activation", "benchmark", *named)}
    words = [name for group, name in chosen.items() if name != COMPONENTS[group].neutral]
    return " · ".join([*words, f"seed {science['seed']} ({run})"])
