"""Show how far the sweeps of a store are: what is done, running, waiting, and what went wrong and why.

    python -m launch status                 all sweeps, a line each
    python -m launch status 3f2a            one, with the packs in hand and the runs that went wrong

It reads the store alone, from wherever the store can be seen, and writes nothing.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from launch.naming import add_store, store_there, sweeps_of, the_one
from launch.plan_file import read_plan
from launch.plan_table import PRINTED_WIDTH, counted, in_time
from launch.sweep_state import STATES, SweepState, state_of
from plasticity_lab.errors import StoreError
from plasticity_lab.records.store import Store

FEW = 3
"""How many runs are named where there are more, unless one sweep was asked for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("sweep", nargs="?", help="the sweep's id, or its beginning; all sweeps without it")
    add_store(parser)
    parser.add_argument("--json", action="store_true", help="for programs: everything, with the state of each run")


def run(options: argparse.Namespace) -> int:
    """The command.  Raises StoreError."""
    store = store_there(options.store)
    states, damaged = _states(store, options.sweep)
    for sentence in damaged:
        print(sentence, file=sys.stderr)
    if options.json:
        print(json.dumps([asdict(state) | {"counts": state.counts} for state in states], indent=1))
        return 0
    console = Console(width=None if Console().is_terminal else PRINTED_WIDTH, highlight=False)
    if not states:
        console.print(f"{store.root} holds no sweep.", soft_wrap=True)
        return 0
    console.print(_overview(states))
    for state in states:
        alone = options.sweep is not None
        if alone and state.running:
            console.print()
            console.print(_in_hand(state))
        for line in _lines(state, alone):
            console.print(line, soft_wrap=True, markup=False)
    return 0


def _states(store: Store, start: str | None) -> tuple[list[SweepState], list[str]]:
    """The sweeps in the order in which they were planned, and what is wrong with plans that cannot be read."""
    if start is not None:
        return [state_of(store, read_plan(store, the_one(start, sweeps_of(store), "sweep", store)))], []
    states, damaged = [], []
    for sweep in sorted(sweeps_of(store), key=lambda sweep: store.plan(sweep).stat().st_mtime):
        try:
            plan = read_plan(store, sweep)
        except StoreError as error:
            damaged.append(str(error))
        else:
            states.append(state_of(store, plan))
    return states, damaged


def _overview(states: Sequence[SweepState]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, expand=True)
    table.add_column("sweep", no_wrap=True)
    for heading in ("runs", *STATES, "collapsed", "progress", "time left"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("command", ratio=1, overflow="ellipsis", no_wrap=True)
    for state in states:
        table.add_row(
            state.sweep,
            f"{len(state.states):,}",
            *(f"{count:,}" if count else "-" for count in state.counts.values()),
            f"{len(state.collapsed):,}" if state.collapsed else "-",
            f"{int(100 * state.progress)} %",
            "stopped" if state.left is None else in_time(state.left) if state.left else "-",
            state.command,
        )
    return table


def _in_hand(state: SweepState) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("pack", "runs of", "mode"):
        table.add_column(heading, no_wrap=True)
    for heading in ("runs", "diverged", "progress", "time left", "heard of"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("worker", overflow="fold")
    for pack in state.running:
        table.add_row(
            pack.pack,
            pack.label,
            pack.mode,
            str(pack.width),
            str(pack.diverged or "-"),
            f"{100 * pack.steps_done // pack.steps} %",
            in_time(pack.left),
            f"{pack.silent:.0f} s ago",
            pack.worker,
        )
    return table


def _lines(state: SweepState, alone: bool) -> list[str]:
    """What went wrong, and what to do about it, a line each."""
    lines = []
    for reason, runs in state.failed.items():
        lines.append(f"{state.sweep}: {counted(len(runs), 'run')} failed: {reason} ({_named(runs, alone)})")
    if state.failed:
        lines.append("`python -m launch show RUN` tells all that is known; the same command trains failed runs again.")
    if alone and state.diverged:
        runs = [f"{run} at step {step:,}" for run, step in state.diverged.items()]
        lines.append(f"{state.sweep}: {counted(len(runs), 'run')} diverged: {', '.join(runs)}")
    if alone and state.collapsed:
        runs = _named(state.collapsed, alone)
        lines.append(f"{state.sweep}: {counted(len(state.collapsed), 'run')} collapsed to chance: {runs}")
    lines += state.unreadable
    if state.left is None:
        lines.append(f"{state.sweep}: nobody trains; the same command goes on.")
    return lines


def _named(runs: Sequence[str], all_of_them: bool) -> str:
    shown = runs if all_of_them else runs[:FEW]
    return ", ".join(shown) + (f" and {len(runs) - len(shown):,} more" if len(shown) < len(runs) else "")
