"""Check Slurm, store, data and W&B before a command needs them, from here and, in a short job, from a compute node.

    python -m launch doctor hydra/launcher=slurm_gpu benchmark=cifar51 tracking=wandb_online

It takes the words of the planned command. If sbatch exists here and no launcher is named, it asks for a job in the
default partition; hydra/launcher=packed checks only this machine. The exit status is 1 if anything would fail.
"""

import argparse
import secrets
import shutil
from pathlib import Path

from launch.command import asked
from launch.doctor.machine import (
    FAILS,
    UNKNOWN,
    Finding,
    of_data,
    of_gpus,
    of_scratch,
    of_software,
    of_store,
    of_tracking,
    show,
    software,
)
from launch.launchers.slurm.parameters import wants_gpu
from launch.packs.lookup import add_config_dir, config_dir_words
from launch.runs.words import spelled
from launch.wording import counted
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.store import Store

LAUNCHER = "hydra/launcher="


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="the words of the planned command: key=value, choice=option"
    )
    parser.add_argument("--store", type=Path, help="the folder of records, as store=FOLDER names it")
    add_config_dir(parser)
    parser.add_argument("--wait", type=float, default=10, metavar="MINUTES", help="how long the job may queue and run")


def run(options: argparse.Namespace) -> int:
    """The command.  Raises PlasticityError if its words do not compose."""
    from launch.doctor.node import Planned, Visit, of_array, of_node, of_plan  # torch: --help need not wait for it
    from launch.doctor.slurm import of_slurm
    from plasticity_lab.assembly import benchmarks_of

    words = _words(options)
    command = asked(words)
    settings, parameters = command.resolved.settings, command.slurm
    store, here, lease = Store(settings.store), software(), settings.launch.lease_seconds
    benchmarks, data = benchmarks_of(command.resolved.runs), settings.data and str(settings.data)
    tracked, online = of_tracking(settings.tracking, parameters is None)
    stored, scratch = of_store(store, lease), of_scratch()
    findings = [*of_software(here), *of_gpus(), *stored, scratch, *of_data(benchmarks, data), *tracked]
    place = f"On this machine, {here['host']}"
    if parameters is None:
        show(place, findings)
        other = "the launcher is neither packed_slurm nor made from it"
        why = other if shutil.which("sbatch") else "there is no sbatch on this machine"
        print(f"On a compute node: nothing was checked, since {why}.")
        return _ended(findings)
    asking = of_slurm(parameters)
    planned, of_packs = Planned(None, 1, 0), list[Finding]()
    if asking[-1].state != FAILS:
        planned, of_packs = of_plan(command.resolved.runs, settings, parameters, words)
    if all(finding.state != FAILS for finding in (scratch, *asking)):
        asking = [*asking, of_array(planned.jobs, parameters)]
    findings = [*findings, *asking, *of_packs]
    show(place, findings)
    if any(finding.state == FAILS for finding in (stored[0], scratch, *asking)):
        place = "On a compute node"
        on_node = [Finding(UNKNOWN, "No job was sent: it would fail for the reasons above.")]
    else:
        trial, gpu = str(store.short_job_folder(secrets.token_hex(6))), wants_gpu(parameters, settings.device)
        asked_of_job = (gpu, planned.kind, planned.memory, online, settings.mode != "eager")
        visit = Visit(str(store.root), trial, here, benchmarks, data, lease, *asked_of_job)
        place, on_node = of_node(visit, parameters, options.wait * 60)
    show(place, on_node)
    return _ended([*findings, *on_node])


def _words(options: argparse.Namespace) -> list[str]:
    """The words of the command to come.  Raises ConfigError if both --store and a word name a store."""
    words = [*config_dir_words(options), *options.words]
    if shutil.which("sbatch") and not any(word.startswith(LAUNCHER) for word in words):
        words.append(f"{LAUNCHER}packed_slurm")
    if options.store is not None:
        named = [word for word in words if word.startswith("store=")]
        if named:
            raise ConfigError(f"--store is {options.store}, and {named[0]} names a store too; give one of them.")
        words.append(f"store={spelled(str(options.store))}")
    return words


def _ended(findings: list[Finding]) -> int:
    """Prints the last line, and returns the exit status."""
    bad = sum(finding.state == FAILS for finding in findings)
    print(f"{counted(bad, 'thing')} would fail." if bad else "No check found a failure.")
    return 1 if bad else 0
