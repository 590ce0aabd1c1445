"""Try assays on finished runs: can their networks still learn, compared with fresh networks on the same data?

    python -m launch assay assay=fresh_labels                              all runs of the store that kept weights
    python -m launch assay 1a2b 'assay=[fresh_labels,teacher]' assay.steps=1000 --tasks 1,50
    python -m launch assay --store results assay=next_task hydra/launcher=slurm

A run keeps the weights at its tasks' ends if it is trained with save_weights=tasks. The assays are planned, packed and
resumed as runs of another store, STORE/assays; their results become columns of the runs' task rows. The same
command again continues after an interruption, and adds the results of workers on Slurm.
"""

import argparse
from collections.abc import Sequence

from launch.command import Asked, asked
from launch.packs.lookup import add_config_dir, add_store, config_dir_words, store_there
from launch.wording import counted, say
from plasticity_lab.errors import ConfigError, PlasticityError, StoreError
from plasticity_lab.records.lookup import recorded_runs, run_named
from plasticity_lab.records.record import read_record
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

GROUP = "assay"
SETTINGS = ("assay", "hydra", "launch", "mode", "device", "data", "dry_run", "rerun", "checkpoint_minutes", "tracking")
"""The first parts of words that make sense here: all others would be about the runs that are finished."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument(
        "words", nargs="*", metavar="RUN|assay=…", help="ids of runs, or their beginnings (none: all that kept weights "
        "of tasks), the assays with their settings, and settings of the launcher, as in the command that trains"
    )  # fmt: skip
    parser.add_argument("--tasks", help="the tasks to try them after, counted from 1: 1,10,20; by default all kept")
    add_store(parser)
    add_config_dir(parser)


def run(options: argparse.Namespace) -> int:
    """Trains the assays that are not finished, and adds the results to the runs' records.

    Raises StoreError, ConfigError, DataError, PlanError; SweepFailed.
    """
    from plasticity_lab.assays.chosen import assays_of  # torch: --help need not wait for it
    from plasticity_lab.saved_network.assayed import add_results, run_of_assay
    from plasticity_lab.saved_network.observing import kept_tasks

    words = [word for word in options.words if "=" in word]
    if wrong := [word for word in words if _first(word) not in SETTINGS]:
        raise ConfigError(
            f"{wrong[0]} is about the training of runs, and these are finished; here words are assay=…, its settings, "
            "and settings of the launcher."
        )
    if not any(word.startswith(f"{GROUP}=") for word in words):
        raise ConfigError("No assay is named; name one, as in assay=fresh_labels.")
    store, only = store_there(options.store), _positions(options.tasks)
    tracked = [] if any(word.startswith("tracking") for word in words) else ["tracking=store"]
    named = [run_named(store, word) for word in options.words if "=" not in word]
    runs, failed, commands = list[Run](), 0, dict[tuple[str, ...], Asked]()
    for source in named or [each for each in recorded_runs(store) if kept_tasks(store, each)]:
        try:
            kind = _kind(store, source)
            if kind not in commands:  # the assays must suit the benchmark and the agent of the run
                line = [*config_dir_words(options), *words, *tracked, f"store={store.assays.root}", *kind]
                commands[kind] = asked(line)
            chosen = commands[kind].resolved.runs[0]
            if not (names := list(assays_of(chosen))):
                raise ConfigError("assay=none tries nothing; name an assay, as in assay=fresh_labels.")
            runs += [run_of_assay(store, source, chosen, name, only) for name in names]
        except PlasticityError as error:
            failed += 1
            say(str(error))
    if not runs:
        if not failed:
            raise StoreError(f"No run in {store.root} has kept weights of tasks; train with save_weights=tasks.")
        return 1
    command = next(iter(commands.values()))
    _train(runs, command.resolved.settings, command.slurm)
    if not command.resolved.settings.dry_run:
        lines = [line for run in runs if (line := add_results(store, run)) is not None]
        say(*lines)
        _say_left(store, runs)
    return 1 if failed else 0


def _kind(store: Store, run: str) -> tuple[str, ...]:
    """The benchmark and the agent of a finished run, as words of a command.  Raises StoreError."""
    record = read_record(store, run)
    if record is None:
        raise StoreError(f"There is no record of run {run} in {store.root}.")
    return tuple(f"{group}={record['science'][group]['name']}" for group in ("benchmark", "agent"))


def _train(runs: Sequence[Run], settings: Settings, slurm: object) -> None:
    if slurm is None:
        from launch.launchers.local import train_here

        train_here(runs, settings)
    else:
        from launch.launchers.slurm.launcher import submit_runs

        submit_runs(runs, settings, slurm)  # type: ignore[arg-type]


def _say_left(store: Store, runs: Sequence[Run]) -> None:
    """Says how to add the results of assays that other workers still train."""
    left = [run for run in runs if read_record(store.assays, run.id) is None]
    if left:
        say(f"{counted(len(left), 'assay')} not finished yet; the same command again adds the results to the records.")


def _first(word: str) -> str:
    return word.partition("=")[0].partition(".")[0].partition("/")[0].lstrip("+~")


def _positions(words: str | None) -> list[int]:
    """The positions of tasks, from 0.  Raises ConfigError."""
    if words is None:
        return []
    try:
        found = [int(word) - 1 for word in words.split(",")]
    except ValueError:
        found = [-1]
    if min(found) < 0:
        raise ConfigError(f"--tasks is {words}; it must be numbers from 1, as in 1,10,20.")
    return sorted(set(found))
