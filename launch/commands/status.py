"""Show the progress of a store's sweeps: runs that are done, running or waiting, and reasons for failures.

    python -m launch status                 the latest sweeps, a line each
    python -m launch status 3f2a            one, with the packs that workers hold and the runs that went wrong

The progress is read from the store, on any machine that sees it. Nothing is written except the store's index of
finished runs, if many runs were missing in it. If runs on Slurm are left, Slurm is asked why they wait. The exit status
is 1 if something in the store is damaged.
"""

import argparse
import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table

from launch.launchers.finished import damaged_checkpoints, damaged_files, damaged_jobs
from launch.launchers.slurm.own_jobs import SweepJobs, sweep_jobs
from launch.packs.lease_files import LeaseFiles, ended
from launch.packs.lookup import add_store, in_order, store_there, the_one
from launch.packs.sweep import STATES, SweepState, state_of
from launch.packs.todo import how_to_try_again
from launch.plan.calibration import damaged_calibrations
from launch.tables import print_table, window
from launch.wording import counted, flag_in_words, in_bytes, in_time, say, some
from launch.work.patience import fault_of
from plasticity_lab.errors import StoreError
from plasticity_lab.records.damage import OldFormat
from plasticity_lab.records.plan import read_plan, sweeps_of
from plasticity_lab.records.record_facts import STOPPED
from plasticity_lab.records.run_index import RunIndex
from plasticity_lab.records.store import Store

FEW, MANY = 3, 20
"""The most runs, reasons or packs that are named: in an overview, and for a single sweep. All are in --json."""
LATEST = 30
"""The most sweeps in an overview, without --all."""
LONGEST_REASON = 300
BAR = 14
LEAST_COMMAND = 24
"""Columns that the command needs in a table; in a narrower window each sweep has three lines."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument("sweep", nargs="?", help="the sweep's id, or its beginning; the latest without it")
    add_store(parser)
    parser.add_argument("--all", action="store_true", help=f"all sweeps, not only the latest {LATEST}")
    parser.add_argument("--json", action="store_true", help="for programs: everything, with the state of each run")


def run(options: argparse.Namespace) -> int:
    """The command.  Returns 1 if something in the store is damaged, which is said on stderr.  Raises StoreError."""
    store = store_there(options.store)
    index = RunIndex(store)
    states, earlier, damaged = _states(store, options, index)
    index.save()
    left = [state.sweep for state in states if state.counts["waiting"] or state.counts["running"]]
    known, unknown = sweep_jobs(store, left)
    damaged += _damaged_files(store, states)
    fault = fault_of(store)
    say(*damaged, *unknown, *([fault] if fault else []))
    whole = not damaged and not any(state.unreadable for state in states)
    if options.json:
        print(json.dumps([_as_json(state, known.get(state.sweep)) for state in states], indent=1))
        return 0 if whole else 1
    console = window()
    if not states:
        console.print(f"{store.root} holds no sweep{'' if whole else ' that can be read'}.", soft_wrap=True)
        return 0 if whole else 1
    _print_overview(console, states, known)
    if earlier:
        console.print(f"Before these, {counted(earlier, 'sweep')} more; --all shows all.")
    alone, piped = options.sweep is not None, not console.is_terminal  # a terminal would break an id
    for state in states:
        if alone and state.running:
            console.print()
            print_table(console, _held_packs(state))
            for line in _lately(state):
                console.print(line, soft_wrap=piped, markup=False)
        for line in [*_went_wrong(state, alone), *_why_it_waits(state, known)]:
            console.print(line, soft_wrap=piped, markup=False)
    return 0 if whole else 1


def _states(store: Store, options: argparse.Namespace, index: RunIndex) -> tuple[list[SweepState], int, list[str]]:
    """The sweeps, sorted by their plans, the number of earlier ones left out, and a line for each unreadable plan."""
    if options.sweep is not None:
        plan = read_plan(store, the_one(options.sweep, sweeps_of(store), "sweep", store))
        return [state_of(store, plan, index)], 0, []
    known = in_order(store)
    shown = known if options.all else known[-LATEST:]
    states, damaged = [], []
    for sweep in shown:
        try:
            plan = read_plan(store, sweep)
        except OldFormat:
            raise  # its message holds for the other plans too
        except StoreError as error:
            damaged.append(str(error))
        else:
            states.append(state_of(store, plan, index))
    return states, len(known) - len(shown), damaged


def _damaged_files(store: Store, states: Sequence[SweepState]) -> list[str]:
    """A line for each damaged file of the sweeps except plans and records, and for each damaged calibration."""
    packs = {pack for state in states for pack in state.packs}
    damaged = [*damaged_files(store, packs), *damaged_checkpoints(store, packs), *damaged_calibrations(store)]
    leases = LeaseFiles(store, damaged.append)
    epochs = leases.epochs()
    for pack in epochs.keys() - ended(store, epochs):
        leases.owner(pack, epochs[pack])
    damaged += damaged_jobs(store, (state.sweep for state in states))
    return [str(error) for error in damaged]


def _as_json(state: SweepState, jobs: SweepJobs | None) -> dict[str, object]:
    return asdict(state) | {"counts": state.counts, "slurm": None if jobs is None else asdict(jobs)}


def _print_overview(console: Console, states: Sequence[SweepState], known: Mapping[str, SweepJobs | None]) -> None:
    flags = list(dict.fromkeys(["collapsed", *(flag for state in states for flag in state.flagged)]))
    shown = [name for name in STATES if name != STOPPED or any(state.counts[name] for state in states)]
    headings = ["sweep", "runs", *shown, *flags, "progress", "time left"]
    rows = [
        [
            state.sweep,
            f"{len(state.states):,}",
            *(f"{state.counts[name]:,}" if state.counts[name] else "-" for name in shown),
            *(f"{len(state.flagged[flag]):,}" if flag in state.flagged else "-" for flag in flags),
            f"{int(100 * state.progress)} %",
            _time_left(state, known),
        ]
        for state in states
    ]
    needed = sum(max(map(len, column)) + 2 for column in zip(headings, *rows, strict=True))
    if needed + LEAST_COMMAND > console.width:
        for state, row in zip(states, rows, strict=True):
            _print_in_lines(console, state, dict(zip(headings, row, strict=True)))
        return
    table = Table(box=None, header_style="bold", pad_edge=False, expand=True)
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "sweep" else "right", no_wrap=True)
    table.add_column("command", ratio=1, overflow="ellipsis", no_wrap=True)
    for state, row in zip(states, rows, strict=True):
        table.add_row(*row, state.command)
    console.print(table)


def _print_in_lines(console: Console, state: SweepState, row: dict[str, str]) -> None:
    """A sweep in three lines: progress, runs by state and flag, the whole command.  row: its cells by heading."""
    sweep, _, progress, left = (row.pop(heading) for heading in ("sweep", "runs", "progress", "time left"))
    line = Table.grid(padding=(0, 2))
    bar = ProgressBar(total=1.0, completed=state.progress, width=BAR)
    line.add_row(f"[bold]{sweep}[/]", bar, progress, f"{left} left" if left[0].isdigit() else left.strip("-"))
    console.print(line)
    words = [counted(len(state.states), "run"), *(f"{count} {name}" for name, count in row.items() if count != "-")]
    console.print(Padding(" · ".join(words), (0, 0, 0, 2), expand=False))
    console.print(f"  {state.command}", soft_wrap=True, markup=False)


def _time_left(state: SweepState, known: Mapping[str, SweepJobs | None]) -> str:
    pauses = [pack.pause for pack in state.running if pack.pause is not None]
    if pauses and len(pauses) == len(state.running):
        return pauses[0].doing
    if state.left is not None:
        return in_time(state.left) if state.left else "-"
    if state.sweep not in known:
        return "stopped"
    jobs = known[state.sweep]
    if jobs is None:
        return "?"
    return "starting" if jobs.running else "queued" if jobs.waiting or jobs.unknown else "stopped"


def _held_packs(state: SweepState) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("pack", "runs of", "mode"):
        table.add_column(heading, no_wrap=True)
    for heading in ("runs", "diverged", "progress", "time left", "last heard of"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("worker", overflow="fold")
    for pack in state.running[:MANY]:
        table.add_row(
            pack.pack,
            pack.family,
            pack.mode,
            str(pack.width),
            str(pack.diverged or "-"),
            f"{100 * pack.steps_done // pack.steps} %",
            in_time(pack.left) if pack.pause is None else pack.pause.words,
            f"{pack.silent:.0f} s ago",
            pack.worker,
        )
    if len(state.running) > MANY:
        table.caption, table.caption_justify = f"and {len(state.running) - MANY:,} more packs", "left"
    return table


def _lately(state: SweepState) -> list[str]:
    """The last measurements of the packs in training, a line for each pack that has some."""
    lines = []
    for pack in state.running[:MANY]:
        words = ", ".join(f"{name} {number:,.1f}" for name, number in pack.lately.items())
        lines += [f"{pack.pack} lately: {words}"] if words else []
    return lines


def _went_wrong(state: SweepState, alone: bool) -> list[str]:
    """Failures and other faults of a sweep with ways out, in lines.  alone: whether only this sweep was asked for."""
    lines = []
    often = sorted(state.failed.items(), key=lambda entry: -len(entry[1]))
    most = MANY if alone else FEW
    for at, (reason, runs) in enumerate(often[:most]):
        short = textwrap.shorten(reason, LONGEST_REASON, placeholder=" …")
        lines.append(f"{state.sweep}: {counted(len(runs), 'run')} failed: {short} ({some(runs, most)})")
        lines += [f"    {line[:LONGEST_REASON]}" for line in state.errors[reason] if alone and at < FEW]
    if rest := [run for _, runs in often[most:] for run in runs]:
        reasons = counted(len(often) - most, "further reason")
        lines.append(f"{state.sweep}: {counted(len(rest), 'run')} failed for {reasons} ({some(rest, FEW)})")
    if state.failed:
        more = sum(map(len, state.failed.values())) > len(state.given_up)
        again = "; the same command trains failed runs again" if more else ""
        lines.append(f"`python -m launch show RUN` shows all that is known{again}.")
    if state.given_up:
        lines.append(how_to_try_again(state.given_up))
    if alone and state.diverged:
        runs = [f"{run} at step {step:,}" for run, step in state.diverged.items()]
        lines.append(f"{state.sweep}: {counted(len(runs), 'run')} diverged: {some(runs, MANY)}")
    for flag, runs in state.flagged.items() if alone else ():
        lines.append(f"{state.sweep}: {counted(len(runs), 'run')} {flag_in_words(flag)}: {some(runs, MANY)}")
    if len(state.kinds) > 1 or (alone and state.kinds):
        kinds = ", ".join(f"{len(runs):,} on {kind}" for kind, runs in state.kinds.items())
        lines.append(f"{state.sweep}: runs by kind of device: {kinds}.")
    if state.memory_bytes and alone:
        size = in_bytes(state.memory_bytes)
        lines.append(f"{state.sweep}: replay memories take {size} in the store until their packs end.")
    lines += state.unreadable[:most]
    if len(state.unreadable) > most:
        lines.append(f"{state.sweep}: {len(state.unreadable) - most:,} more records cannot be read.")
    return lines


def _why_it_waits(state: SweepState, known: Mapping[str, SweepJobs | None]) -> list[str]:
    """The jobs of a sweep on Slurm, and the way to continue a sweep that no worker trains."""
    jobs = known.get(state.sweep)
    lines = [] if jobs is None else [f"{state.sweep} on Slurm: {jobs}."]
    if state.left is not None:
        return lines
    if state.sweep not in known:
        lines.append(f"{state.sweep}: no worker trains; the same command continues the sweep.")
    elif jobs is None:
        lines.append(f"{state.sweep}: no worker trains at this moment.")
    elif jobs.running:
        lines.append(f"{state.sweep}: no worker holds a pack yet; `python -m launch logs` shows its workers' output.")
    elif not (jobs.waiting or jobs.unknown):
        ended = "it was cancelled" if jobs.cancelled else "no worker trains"
        lines.append(f"{state.sweep}: {ended}; `python -m launch resume {state.sweep}` goes on.")
    return lines
