"""Whether packs fit into jobs: their time, memory and array; and checks on a compute node, in a short job."""

import contextlib
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from launch.doctor.machine import (
    FAILS,
    OK,
    UNKNOWN,
    Finding,
    attempt,
    of_data,
    of_key,
    of_network,
    of_scratch,
    of_software,
    of_store,
    software,
)
from launch.launchers.prepare import costs
from launch.launchers.slurm import cluster
from launch.launchers.slurm.launcher import resources_of
from launch.launchers.slurm.parameters import workers_a_job
from launch.launchers.slurm.short_job import LATE_SECONDS, LOOK_SECONDS, NoAnswer, answer_to, clear, send
from launch.launchers.slurm.signals import EARLY_SECONDS
from launch.launchers.slurm.submit_once import check_taken, jobs_needed, way_out
from launch.plan.device import WORKER_BYTES, cores, devices, kind_of, limited_memory
from launch.plan.planner import Resources, plan
from launch.wording import counted, in_bytes, in_time
from plasticity_lab import assembly
from plasticity_lab.benchmarks.benchmark import Benchmark
from plasticity_lab.data.folder import data_folder
from plasticity_lab.errors import PlasticityError
from plasticity_lab.records.files import names, write_atomically
from plasticity_lab.records.kinds import device_name, is_cpu, sort_of
from plasticity_lab.records.plan import Pack
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

MINUTES = 10
"""The time limit of the job: short ones fit into gaps of the queue."""
FROM_HERE, FROM_NODE = "written_here", "written_on_a_node"


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
    advice = way_out("refused", asked.words)
    return asked if asked.state == OK or not advice else Finding(FAILS, f"{asked.words}; {advice}.")


def _packs(runs: Sequence[Run], settings: Settings, resources: Resources) -> list[Pack]:
    """Long ones first.  Raises PlanError, DataError, ConfigError."""
    prices = costs(
        assembly.resources_or_outlines(data_folder(settings.data), lambda words: None),
        settings.replay_memory_compressed,
    )  # of_data says them
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


@dataclass(frozen=True)
class Visit:
    """The checks of the job.  Its answer is a list of findings, each as a dictionary.

    trial: a folder of the store, for files that the other machine must see. here: the result of `software` on the
    machine of the command. benchmarks: one for each resource that runs need. gpu: whether workers train on a GPU. kind:
    the kind of device that packs are planned for; None if it is unknown. memory: bytes that a job takes. online:
    whether runs are written to W&B while they train. compiled: whether long runs are compiled.
    """

    store: str
    trial: str
    here: Mapping[str, Any]
    benchmarks: Sequence[Benchmark]
    data: str | None
    lease_seconds: float
    gpu: bool
    kind: str | None
    memory: int
    online: bool
    compiled: bool

    def __call__(self) -> list[dict[str, str]]:
        """Runs all checks."""
        findings = [*self._store(), *self._software(), *of_data(self.benchmarks, self.data), self._device()]
        findings += [self._memory(), of_scratch()]
        if self.online:
            findings += [of_key(), of_network("from this node")]
        return [asdict(finding) for finding in findings]

    def _store(self) -> list[Finding]:
        """Checks the store; writes nothing if it is not the store of the command."""
        trial = Path(self.trial)
        if not (trial / FROM_HERE).exists():
            words = f"Store {self.store}: files that {self.here['host']} has written there are not seen on this node"
            return [Finding(FAILS, f"{words}; put it on a file system that all nodes share.")]
        findings = of_store(Store(self.store), self.lease_seconds)
        if findings[0].state == OK:
            write_atomically(trial / FROM_NODE, b"")
        return findings

    def _software(self) -> list[Finding]:
        node, keys = software(), ("checkout", "commit", "dirty", "code", "python", "versions")
        differs = [f"{key} is {node[key]} and not {self.here[key]}" for key in keys if node[key] != self.here[key]]
        if not differs:
            findings = [Finding(OK, f"Code, Python and packages: the same as on {self.here['host']}.")]
        else:
            words = f"Code, Python and packages: not the same as on {self.here['host']}: {'; '.join(differs)}"
            findings = [*of_software(node), Finding(FAILS, f"{words}. Put both on a file system that all nodes share.")]
        if self.compiled and not self.here["uncompiled"] and node["uncompiled"]:
            words = f"Compiling: long runs are to be compiled, but {node['uncompiled']}"
            findings.append(Finding(FAILS, f"{words}; hydra.launcher.setup can see to it, or say mode=eager."))
        return findings

    def _memory(self) -> Finding:
        limit = limited_memory()
        if limit is None:
            return Finding(OK, "Memory: the job may use all of its node's.")
        words = f"Memory: the job may use {in_bytes(limit)}, and its workers need about {in_bytes(self.memory)}"
        if limit >= self.memory:
            return Finding(OK, f"{words}.")
        return Finding(FAILS, f"{words}; say hydra.launcher.mem_gb={math.ceil(self.memory / 2**30)}.")

    def _device(self) -> Finding:
        if not self.gpu:
            return self._of_kind(kind_of("cpu"), f"{cores()} cores")
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        given = f"CUDA_VISIBLE_DEVICES={visible}" if visible else "no CUDA_VISIBLE_DEVICES, so Slurm gave it none"
        if not torch.cuda.is_available():
            built = f"torch {torch.__version__} is built for CUDA {torch.version.cuda}"
            if torch.version.cuda is None:
                built = f"torch {torch.__version__} is built for CPUs alone; install one that is built for CUDA"
            return Finding(FAILS, f"GPU: torch can use none here ({given}); {built}.")
        if not visible:
            words = f"GPU: torch uses one, but the job has {given}; jobs of one node might share it without knowing"
            return Finding(UNKNOWN, f"{words}: ask who runs the cluster.")
        try:
            torch.ones(1, device="cuda").sum().item()
        except RuntimeError as error:
            return Finding(FAILS, f"GPU: torch cannot compute on it: {str(error).splitlines()[0]}.")
        return self._of_kind(kind_of(devices("cuda")[0]), given)

    def _of_kind(self, kind: str, what: str) -> Finding:
        if self.kind is None and self.gpu:
            words = f"Device: {kind} ({what}). hydra.launcher.device_kind='{device_name(kind)}' plans for it"
            return Finding(OK, f"{words}, and needs no calibration.")
        if self.kind is None or self.kind == kind:
            return Finding(OK, f"Device: {kind} ({what}).")
        if sort_of(self.kind) == sort_of(kind):
            words = f"Device: {kind} ({what}). Packs are planned for {self.kind}"
            return Finding(OK, f"{words}; a worker here chooses mode and width again for each pack that it begins.")
        name = device_name(kind)
        advice = f"say hydra.launcher.device_kind='{name}', or ask for other nodes with constraint or gres"
        if is_cpu(kind):
            advice = "ask for other nodes with constraint or gres, or say device=cpu"
        return Finding(FAILS, f"Device: {kind} ({what}), while packs are planned for {self.kind}; {advice}.")


def of_node(visit: Visit, parameters: Mapping[str, Any], patience: float) -> tuple[str, list[Finding]]:
    """Sends a job with all checks, and waits for it.  Returns its place, and its findings.

    patience: seconds that it may queue and run. Nothing is left, not even a store that was missing before.
    """
    trial = Path(visit.trial)
    made = [folder for folder in (Path(visit.store), *Path(visit.store).parents) if not folder.exists()]
    try:
        write_atomically(trial / FROM_HERE, b"")
        sent = send(Store(visit.store), visit, parameters, MINUTES)
        answer = answer_to(sent, patience)
        findings = [Finding(**each) for each in answer.result]
        findings += [_seen_here(trial)] if findings[0].state == OK else []
        findings.append(_clocks(answer.late, visit.lease_seconds))
        return f"On a compute node, {answer.node}, in job {sent.job}", findings
    except NoAnswer as error:
        return "On a compute node", [Finding(FAILS if error.ended else UNKNOWN, str(error))]
    except PlasticityError as error:
        return "On a compute node", [Finding(FAILS, str(error))]
    finally:
        clear(trial)
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()  # fails if it is no longer empty


def _seen_here(trial: Path) -> Finding:
    end = time.monotonic() + LATE_SECONDS
    while FROM_NODE not in names(trial):
        if time.monotonic() > end:
            return Finding(FAILS, "Files that the node wrote into the store are not seen here; share the store.")
        time.sleep(LOOK_SECONDS)
    return Finding(OK, "Shared: each sees the files that the other has written into the store.")


def _clocks(late: float, lease_seconds: float) -> Finding:
    """Whether the clocks agree: an answer takes about a second, so only a larger difference counts."""
    words = f"Clocks: the node's and this machine's seem {abs(late):.1f} s apart"
    if abs(late) <= lease_seconds / 2:
        return Finding(OK, f"{words}.")
    return Finding(FAILS, f"{words}; have them set (NTP).")
