"""What is asked of Slurm on a login node, before anything is submitted."""

import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from launch.doctor.finding import FAILS, OK, UNKNOWN, Finding, attempt
from launch.launchers.slurm import cluster
from launch.launchers.slurm.launcher import resources_of
from launch.launchers.slurm.parameters import check_parameters
from plasticity_lab.account import user_name
from plasticity_lab.errors import PlasticityError
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store

CHECKED = {"associations", "limits", "qos", "safe", "all"}
"""Words of AccountingStorageEnforce with which Slurm checks that a job's account is one of its user's."""


def of_slurm(parameters: Mapping[str, Any]) -> list[Finding]:
    """Commands, controller, accounting, account and partition: without any of them no job is sent."""
    there = attempt(_commands)
    if there.state == FAILS:
        return [there]
    try:
        configuration = cluster.ask("scontrol", "show", "config")
    except cluster.SlurmError as error:
        return [there, Finding(FAILS, f"The controller does not answer: {error}")]
    return [
        there,
        _accounting(),
        *_account(parameters["account"], configuration),
        *_partitions(parameters),
    ]


def of_plan(settings: Settings, parameters: Mapping[str, Any]) -> tuple[str | None, list[Finding]]:
    """The kind of device that packs are planned for, None where that is not known, and what limits an array."""
    arrays = attempt(lambda: _arrays(settings.launch.workers))
    try:
        resources, _ = resources_of(Store(settings.store), settings, parameters)
    except PlasticityError as error:
        return None, [arrays, Finding(FAILS, f"Plans: {error}")]
    words = [f"Plans: for {resources.kind}, with figures {resources.calibration.basis}.", *map(str, resources.damaged)]
    return resources.kind, [arrays, Finding(OK, " ".join(words))]


def _commands() -> str:
    cluster.check_there()
    return f"Slurm: {', '.join(cluster.COMMANDS)} are here ({cluster.ask('sinfo', '--version').strip()})."


def _partitions(parameters: Mapping[str, Any]) -> list[Finding]:
    """Those named, or the default one: whether they are there, take jobs, and let them last long enough."""
    known = {}
    for line in cluster.ask("sinfo", "--noheader", "--all", "--format=%P %a %l").splitlines():
        name, state, limit = line.split()
        known[name] = (state, limit)
    named = parameters["partition"]
    first = attempt(lambda: check_parameters(parameters) or cluster.check_partition(named) or "")
    if first.state == FAILS:
        return [first]
    default = [name.rstrip("*") for name in known if name.endswith("*")]
    names = named.split(",") if named else default
    if not names:
        return [Finding(FAILS, "Partition: none is named, and none is the default; say hydra.launcher.partition.")]
    found = [
        _partition(name, *known.get(name, known.get(f"{name}*", ("?", "?"))), parameters["timeout_min"])
        for name in names
    ]
    return [*found, *(attempt(partial(_kinds_of_nodes, name, parameters.get("constraint"))) for name in names)]


def _partition(name: str, state: str, limit: str, minutes: int) -> Finding:
    if state != "up":
        return Finding(FAILS, f"Partition {name} is {state}: jobs would never start there; name another one.")
    longest = cluster.in_seconds(limit)
    if longest is not None and longest < minutes * 60:
        return Finding(
            FAILS, f"Partition {name} lets jobs last {limit}; hydra.launcher.timeout_min={minutes} would never start."
        )
    return Finding(OK, f"Partition {name}: it is up, and jobs may last {minutes} minutes there.")


def _kinds_of_nodes(name: str, constraint: str | None) -> str:
    """Which nodes a partition has, by what distinguishes kinds for Slurm: their features."""
    nodes: Counter[str] = Counter()
    for line in cluster.ask("sinfo", "--noheader", "--partition", name, "--format=%D|%f").splitlines():
        count, _, features = line.strip().partition("|")
        nodes[features.strip() or "(null)"] += int(count) if count.isdecimal() else 0
    if list(nodes) in ([], ["(null)"]):
        return f"Nodes of {name}: Slurm names no features of theirs, so it cannot be asked for nodes of one kind."
    each = ", ".join(f"{count:,} with {features}" for features, count in sorted(nodes.items()))
    words = f"Nodes of {name}: {each}"
    if len(nodes) > 1 and not constraint:
        return (
            f"{words}. Their CPUs may differ, and a pack goes on only on the kind that began it; "
            "hydra.launcher.constraint=<feature> asks for one kind."
        )
    return f"{words}{f'; constraint={constraint} is asked for' if constraint else ''}."


def _account(account: str | None, configuration: str) -> list[Finding]:
    if account is None:
        return []
    enforced = re.search(r"^AccountingStorageEnforce\s*=\s*(\S+)", configuration, re.MULTILINE)
    if enforced is None or not CHECKED & set(enforced[1].lower().split(",")):
        return [Finding(OK, f"Account {account}: this cluster takes any.")]
    user = user_name()
    question = ("sacctmgr", "--noheader", "--parsable2", "show", "associations", f"users={user}", "format=account")
    try:
        own = sorted(set(cluster.ask(*question).split()))
    except cluster.SlurmError as error:
        return [Finding(UNKNOWN, f"Account {account}: {error}")]
    if account.lower() not in own:
        are = f"there are {', '.join(own)}" if own else "there is none; ask who runs the cluster for one"
        return [Finding(FAILS, f"Account {account} is not one of {user}'s; {are}.")]
    return [Finding(OK, f"Account {account}: it is one of {user}'s.")]


def _accounting() -> Finding:
    """Sweeps do without it: what they need to know of jobs they ask squeue, and the store."""
    try:
        cluster.ask("sacct", "--noheader", "--allocations", "--starttime=now", "--format=SubmitLine")
    except cluster.SlurmError as error:
        return Finding(
            OK, f"Accounting: none ({error}) Sweeps need none; but why a job ended is forgotten minutes afterwards."
        )
    return Finding(OK, "Accounting: sacct answers.")


def _arrays(workers: int | None) -> str:
    largest = cluster.largest_array()
    more = workers is not None and workers > largest
    return f"Arrays: {largest:,} jobs at most" + (f", fewer than launch.workers={workers:,} asks for." if more else ".")
