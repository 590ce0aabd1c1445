"""Measure finished runs: diagnostics of the weights that they kept at the ends of tasks, as columns of their records.

    python -m launch observe 1a2b                                          the set `cheap`
    python -m launch observe --store results diagnostics=[cheap,curvature] diagnostics.block=all

A run keeps the weights at its tasks' ends if it is trained with save_weights=tasks. A run with save_weights=final is
measured at the end of its last task. Diagnostics that a record already has are not measured again, unless with --again.
"""

import argparse

from launch.command import resolve
from launch.packs.lookup import add_config_dir, add_store, config_dir_words, store_there
from launch.wording import say
from plasticity_lab.errors import ConfigError, PlasticityError, StoreError
from plasticity_lab.records.lookup import recorded_runs, run_named
from plasticity_lab.records.store import Store

GROUP = "diagnostics"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument(
        "words", nargs="*", metavar="RUN|diagnostics=…", help="ids of runs, or their beginnings (none: all that kept "
        "weights), and the diagnostics to measure, as in the command that trains"
    )  # fmt: skip
    parser.add_argument("--again", action="store_true", help="measure diagnostics again that a record already has")
    parser.add_argument("--data", help="the folder of data sets; by default the usual one")
    add_store(parser)
    add_config_dir(parser)


def run(options: argparse.Namespace) -> int:
    """Adds measurements to the record of each run; goes on if one run fails.

    Raises StoreError, ConfigError.
    """
    from plasticity_lab.assembly import resources  # torch: --help need not wait for it
    from plasticity_lab.data.folder import data_folder
    from plasticity_lab.diagnostics.chosen import diagnostics_of
    from plasticity_lab.saved_network.observing import kept_tasks

    asked = [word for word in options.words if "=" in word]
    if wrong := [word for word in asked if word.partition("=")[0].partition(".")[0] != GROUP]:
        raise ConfigError(f"{wrong[0]} is about no diagnostic; here words are diagnostics=… and their settings.")
    if not any(word.startswith(f"{GROUP}=") for word in asked):
        asked.append(f"{GROUP}=cheap")
    chosen = resolve([*config_dir_words(options), *asked]).runs[0]
    if not diagnostics_of(chosen):
        raise ConfigError("diagnostics=none measures nothing; name one, as in diagnostics=cheap.")
    store = store_there(options.store)
    named = [run_named(store, word) for word in options.words if "=" not in word]
    resource_of, looked, failed = resources(data_folder(options.data)), 0, 0
    for each in named or recorded_runs(store):
        try:
            if named or kept_tasks(store, each):
                looked += 1
                say(_looked_at(store, each, diagnostics_of(chosen), resource_of, options.again))
        except PlasticityError as error:
            failed += 1
            say(str(error))
    if not looked and not failed:
        raise StoreError(f"No run in {store.root} has kept weights; train with save_weights=tasks.")
    return 1 if failed else 0


def _looked_at(store: Store, run: str, diagnostics: dict, resource_of, again: bool) -> str:
    """Adds the columns of diagnostics to the record of a run; returns a line about it."""
    from plasticity_lab.records.provenance import provenance, utc_now
    from plasticity_lab.records.record import read_record
    from plasticity_lab.saved_network.observing import add_columns, observed

    record = read_record(store, run)
    known = [] if record is None or again else [name for name in diagnostics if name in record["diagnostics"]]
    left = {name: diagnostic for name, diagnostic in diagnostics.items() if name not in known}
    if not left:
        return f"{run}: was measured by {', '.join(known)} already; --again measures it again."
    seen = observed(store, run, left, resource_of)
    tasks = list(seen.at_tasks)
    source = provenance()
    by = {"diagnostics": list(left), "tasks": tasks, "when": utc_now(), "commit": source.get("commit")}
    add_columns(store, run, seen, list(left), by)
    ends = "the end of task" if len(tasks) == 1 else "the ends of tasks"
    said = ", ".join(str(task + 1) for task in tasks[:3]) + (f" … {tasks[-1] + 1}" if len(tasks) > 3 else "")
    return f"{run}: {len(seen.columns)} columns at {ends} {said}."
