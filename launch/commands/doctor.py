"""Say what would fail before it does: Slurm, store, data and W&B, from here and, by a short job, from a compute node.

    python -m launch doctor hydra/launcher=slurm_gpu benchmark=cifar51 tracking=wandb_online

It takes the words of the command that is to be given. Where sbatch is and no launcher is named, it asks for a job of
the default partition; hydra/launcher=packed looks only at this machine. Status 1 if anything would fail.
"""

import argparse
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

from launch.command import asked
from launch.doctor.finding import FAILS, UNKNOWN, Finding, show
from launch.doctor.machine import of_data, of_scratch, of_software, of_store, software
from launch.doctor.wandb import of_tracking
from launch.launchers.slurm.parameters import wants_gpu
from launch.packs.lookup import add_config_dir, config_dir_words
from launch.runs.words import spelled
from launch.wording import counted
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.store import Store

LAUNCHER = "hydra/launcher="


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument("words", nargs="*", metavar="WORD", help="what the command is to be: key=value, choice=option")
    parser.add_argument("--store", type=Path, help="the folder of records, as store=FOLDER names it")
    add_config_dir(parser)
    parser.add_argument("--wait", type=float, default=10, metavar="MINUTES", help="how long the job may queue and run")


def run(options: argparse.Namespace) -> int:
    """The command.  Raises PlasticityError where its words name nothing that could be looked at."""
    from launch.doctor.node import Visit, of_node  # torch: --help need not wait for it
    from launch.doctor.plans import Planned, of_array, of_plan
    from launch.doctor.slurm import of_slurm
    from plasticity_lab.assembly import benchmarks_of

    words = [*config_dir_words(options), *options.words]
    if shutil.which("sbatch") and not any(word.startswith(LAUNCHER) for word in words):
        words = [*words, f"{LAUNCHER}packed_slurm"]
    if options.store is not None:
        words = [*words, _store_in(words, options.store)]
    command = asked(words)
    settings, parameters = command.resolved.settings, command.slurm
    store, here, lease = Store(settings.store), software(), settings.launch.lease_seconds
    gpu = parameters is not None and wants_gpu(parameters, settings.device)
    benchmarks = benchmarks_of(command.resolved.runs)
    data = None if settings.data is None else str(settings.data)
    tracked, online = of_tracking(settings.tracking, parameters is None)
    stored = of_store(store, lease)
    scratch = of_scratch()
    found = [*of_software(here), *stored, scratch, *of_data(benchmarks, data), *tracked]
    if parameters is None:
        show(f"On this machine, {here['host']}", found)
        other = "the launcher is neither packed_slurm nor made from it"
        why = other if shutil.which("sbatch") else "there is no sbatch on this machine"
        print(f"On a compute node: nothing was looked at, since {why}.")
        return _ended(found)
    asking = of_slurm(parameters)
    planned, of_packs = Planned(None, 1, 0), list[Finding]()
    if asking[-1].state != FAILS:
        planned, of_packs = of_plan(command.resolved.runs, settings, parameters, words)
    if all(finding.state != FAILS for finding in (scratch, *asking)):
        asking = [*asking, of_array(planned.jobs, parameters)]
    found = [*found, *asking, *of_packs]
    show(f"On this machine, {here['host']}", found)
    if any(finding.state == FAILS for finding in (stored[0], scratch, *asking)):
        place, there = "On a compute node", [Finding(UNKNOWN, "No job was sent: it would fail of what is said above.")]
    else:
        visit = Visit(
            store=str(store.root),
            trial=str(store.short_job_folder(secrets.token_hex(6))),
            here=here,
            benchmarks=benchmarks,
            data=data,
            lease_seconds=lease,
            gpu=gpu,
            kind=planned.kind,
            memory=planned.memory,
            online=online,
            compiled=settings.mode != "eager",
        )
        place, there = of_node(visit, parameters, options.wait * 60)
    show(place, there)
    return _ended([*found, *there])


def _store_in(words: Sequence[str], folder: Path) -> str:
    """The word that names the store, as --store does.  Raises ConfigError where the words name one too."""
    named = [word for word in words if word.startswith("store=")]
    if named:
        raise ConfigError(f"--store is {folder}, and {named[0]} names a store too; give one of them.")
    return f"store={spelled(str(folder))}"


def _ended(found: list[Finding]) -> int:
    """The last line, and the exit status."""
    bad = sum(finding.state == FAILS for finding in found)
    print(f"{counted(bad, 'thing')} would fail." if bad else "Nothing that was looked at would fail.")
    return 1 if bad else 0
