"""Whether packs fit into jobs: their time, their memory, and the array that Slurm would be given."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from launch.doctor.finding import FAILS, OK, Finding, attempt
from launch.launchers.prepare import costs
from launch.launchers.slurm import cluster
from launch.launchers.slurm.launcher import resources_of
from launch.launchers.slurm.parameters import workers_a_job
from launch.launchers.slurm.signals import EARLY_SECONDS
from launch.launchers.slurm.submit_once import check_taken, jobs_needed
from launch.plan.device import WORKER_BYTES
from launch.plan.planner import Resources, plan
from launch.wording import counted, in_time
from plasticity_lab import assembly
from plasticity_lab.data.folder import data_folder
from plasticity_lab.errors import PlasticityError
from plasticity_lab.records.kinds import is_cpu
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

_WAYS_OUT = (
    ("array specification|submit limit|MaxSubmit", "launch.workers=NUMBER asks for fewer jobs at once"),
    ("[Ff]eature", "no node has the feature in hydra.launcher.constraint"),
    ("qos", "hydra.launcher.qos names another one"),
    ("account", "hydra.launcher.account names another one"),
    ("[Tt]ime limit", "lower hydra.launcher.timeout_min"),
    ("configuration", "no node has all of gpus_per_node, gres, mem_gb and cpus_per_task; lower them"),
)
"""Pairs of a pattern of sbatch's message and the way out."""


@dataclass(frozen=True)
class Planned:
    """The demands of a command's plan on its jobs.

    kind: the kind of device in the plan; None if it is not known. jobs: the number of jobs in the array. memory: bytes
    that the workers of one job take with their largest packs.
    """

    kind: str | None
    jobs: int
    memory: int


def of_plan(
    runs: Sequence[Run], settings: Settings, parameters: Mapping[str, Any], words: Sequence[str]
) -> tuple[Planned, list[Finding]]:
    """Plans the runs, and writes nothing.  words: the command's."""
    together, wanted = workers_a_job(parameters), settings.launch.workers
    try:
        largest = cluster.largest_array()
        resources = resources_of(Store(settings.store), settings, parameters, words)
        packs = _packs(runs, settings, resources)
    except PlasticityError as error:
        return Planned(None, wanted or 1, together * WORKER_BYTES), [Finding(FAILS, f"Plans: {error}")]
    said = [f"Plans: for {resources.kind}, with figures {resources.calibration.basis}.", *map(str, resources.damaged)]
    jobs = jobs_needed(packs, wanted, parameters, largest)
    more = wanted is not None and wanted > largest
    arrays = f"Arrays: {largest:,} jobs at most{f', fewer than launch.workers={wanted:,} asks for' if more else ''}."
    of_packs = max(pack.bytes for pack in packs) / 0.9 if is_cpu(resources.kind) else 0.0
    findings = [Finding(OK, arrays), Finding(OK, " ".join(said)), _of_time(packs[0], parameters)]
    return Planned(resources.kind, jobs, together * max(WORKER_BYTES, math.ceil(of_packs))), findings


def of_array(jobs: int, parameters: Mapping[str, Any]) -> Finding:
    """Whether sbatch would accept the array; nothing is submitted."""
    asked = attempt(lambda: check_taken(jobs, parameters) or f"sbatch would take {counted(jobs, 'job')} like these.")
    advice = next((way for words, way in _WAYS_OUT if re.search(words, asked.words)), "")
    return asked if asked.state == OK or not advice else Finding(FAILS, f"{asked.words}; {advice}.")


def _packs(runs: Sequence[Run], settings: Settings, resources: Resources) -> list[Pack]:
    """Long ones first.  Raises PlanError, DataError, ConfigError."""
    prices = costs(assembly.resources_or_outlines(data_folder(settings.data), lambda words: None))  # of_data says them
    return plan(runs, resources, prices, lambda run, cost: resources.choice(cost, settings.mode).mode)


def _of_time(longest: Pack, parameters: Mapping[str, Any]) -> Finding:
    """Whether the longest pack ends within the starts of a job.  Each start goes on from the last checkpoint."""
    minutes, starts = parameters["timeout_min"], parameters["max_num_timeout"] + 1
    useful = minutes * 60 - parameters["signal_delay_s"] - EARLY_SECONDS
    needed = math.ceil(longest.seconds / useful)
    words = f"Time: the longest pack takes about {in_time(longest.seconds)}, and a job lasts {in_time(minutes * 60)}"
    if needed > starts:
        may = f"and may start {counted(starts, 'time')}; raise hydra.launcher.timeout_min or max_num_timeout"
        return Finding(FAILS, f"{words} {may}.")
    return Finding(OK, f"{words}{'' if needed == 1 else f'; it goes on in {needed:,} jobs in turn'}.")
