"""Questions to Slurm on a login node, before anything is submitted: commands, controller, accounts, partitions.

The partitions of a command must take jobs, let them last long enough, and have nodes that fit.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from launch.doctor.machine import FAILS, OK, UNKNOWN, Finding, attempt
from launch.launchers.slurm import cluster
from launch.launchers.slurm.parameters import check_parameters, wants_gpu
from launch.wording import in_bytes
from plasticity_lab.process.account import user_name

_ACCOUNTS = {"associations", "limits", "qos", "safe", "all"}
"""With one of these words in AccountingStorageEnforce, Slurm refuses other users' accounts."""
_QOS, _LIMITS = {"qos", "all"}, {"limits", "safe", "all"}
"""The corresponding words for the quality of service, and for time limits."""
_COLUMNS = "%P|%a|%l|%D|%T|%c|%m|%f|%G"
_OUT_OF_USE = {"down", "drained", "draining", "drng", "drain", "error", "fail", "failing", "inval", "maint", "unknown"}
"""Nodes in these states start no job until an administrator has seen to them."""
_FEATURE = re.compile(r"[\w.-]+")
"""A constraint that names one feature; only sbatch checks other constraints."""
_GPU_TYPE = re.compile(r"\bgpu:([A-Za-z][\w.-]*)")


def of_slurm(parameters: Mapping[str, Any]) -> list[Finding]:
    """Commands, controller, accounting, account and partition; no job is sent if one of them fails."""
    commands = attempt(_commands)
    if commands.state == FAILS:
        return [commands]
    try:
        configuration = cluster.ask("scontrol", "show", "config")
    except cluster.SlurmError as error:
        return [commands, Finding(FAILS, f"The controller does not answer: {error}")]
    findings = [commands, _accounting(), *_requeue(parameters), *of_association(parameters, configuration)]
    try:
        return [*findings, *of_partitions(parameters, configuration)]
    except cluster.SlurmError as error:
        return [*findings, Finding(FAILS, f"Partitions: {error}")]


def _commands() -> str:
    cluster.check_there()
    return f"Slurm: {', '.join(cluster.COMMANDS)} are here ({cluster.ask('sinfo', '--version').strip()})."


def _requeue(parameters: Mapping[str, Any]) -> list[Finding]:
    """Whether the command's parameters keep jobs from being requeued."""
    extra = {key.replace("_", "-"): value for key, value in parameters["additional_parameters"].items()}
    if not extra.get("no-requeue") and extra.get("requeue", True):
        return []
    words = "Requeue: with these additional_parameters no job comes back (preemption, a lost node, its time limit)"
    return [Finding(FAILS, f"{words}; leave requeue and no-requeue out.")]


def _accounting() -> Finding:
    """Whether sacct answers. Sweeps do not need it: they ask squeue and the store."""
    try:
        cluster.ask("sacct", "--noheader", "--allocations", "--starttime=now", "--format=SubmitLine")
    except cluster.SlurmError as error:
        return Finding(OK, f"Accounting: none ({error}) Sweeps need none, but Slurm soon forgets why a job ended.")
    return Finding(OK, "Accounting: sacct answers.")


def of_association(parameters: Mapping[str, Any], configuration: str) -> list[Finding]:
    """Whether account and quality of service are the user's, and let jobs last long enough.

    Empty if neither is named and neither limits jobs. configuration: the cluster's configuration, from scontrol.
    """
    account, qos, minutes = parameters["account"], parameters["qos"], parameters["timeout_min"]
    enforcing = re.search(r"^AccountingStorageEnforce\s*=\s*(\S+)", configuration, re.MULTILINE)
    enforced = set(enforcing[1].lower().split(",")) if enforcing else set[str]()
    if not _ACCOUNTS & enforced:
        return [Finding(OK, f"Account {account}: this cluster takes any.")] if account else []
    user = user_name()
    try:
        columns = "format=account,qos,defaultqos"  # qos: all allowed ones, separated by commas
        associations = _rows("show", "associations", f"users={user}", columns)
        limits = _rows("show", "qos", "format=name,maxwall") if _LIMITS & enforced else []
    except cluster.SlurmError as error:
        return [Finding(UNKNOWN, f"Account and quality of service: {error}")] if account or qos else []
    accounts = sorted({row[0] for row in associations})
    if account and account.lower() not in accounts:
        are = f"there are {', '.join(accounts)}" if associations else "no account is; ask who runs the cluster for one"
        return [Finding(FAILS, f"Account {account} is not one of {user}'s; {are}.")]
    meant = [row for row in associations if account is None or row[0] == account.lower()]
    allowed = sorted({each for row in meant for each in row[1].split(",") if each})
    if qos and _QOS & enforced and qos.lower() not in allowed:
        are = f"say hydra.launcher.qos={' or '.join(allowed)}" if allowed else "ask who runs the cluster for it"
        return [Finding(FAILS, f"Quality of service {qos} is not one of {user}'s; {are}.")]
    defaults = {row[2] for row in meant}
    name = (qos or (defaults.pop() if len(defaults) == 1 else "")).lower()
    longest = dict(limits)
    limit = cluster.in_seconds(longest.get(name, ""))
    if limit is not None and limit < minutes * 60:
        words = f"Quality of service {name} lets jobs last {longest[name]}; hydra.launcher.timeout_min={minutes} would"
        return [Finding(FAILS, f"{words} never start. Say hydra.launcher.timeout_min={int(limit // 60)}.")]
    words = [f"Account {account}: it is one of {user}'s."] if account else []
    words += [f"Quality of service {qos}: it lets jobs last {minutes} minutes."] if qos else []
    return [Finding(OK, each) for each in words]


def _rows(*question: str) -> list[list[str]]:
    """The answer of sacctmgr, a list for each row.  question: its last word names the columns.  Raises SlurmError."""
    answer = cluster.ask("sacctmgr", "--noheader", "--parsable2", *question)
    return [row.split("|") for row in answer.splitlines() if row.count("|") == question[-1].count(",")]


@dataclass(frozen=True)
class Nodes:
    """Nodes of a partition that sinfo describes in one row.

    up: the partition's state. limit: its time limit in Slurm's notation. cores: cores per node. memory: bytes per node.
    features and gres: Slurm's lists, (null) for none.
    """

    partition: str
    default: bool
    up: str
    limit: str
    count: int
    state: str
    cores: int
    memory: int
    features: str
    gres: str

    @classmethod
    def read(cls, row: str) -> "Nodes":
        """Reads one row with the columns above."""
        name, up, limit, count, state, cores, memory, features, gres = row.strip().split("|")
        number = re.compile(r"\d+")
        numbers = [int(match[0]) if (match := number.match(words)) else 0 for words in (count, cores, memory)]
        facts = (name.rstrip("*"), name.endswith("*"), up, limit, numbers[0], state, numbers[1], numbers[2] * 2**20)
        return cls(*facts, features.strip() or "(null)", gres)

    @property
    def in_use(self) -> bool:
        """Whether they start jobs. A * after the state means that they do not answer."""
        return self.count > 0 and not self.state.endswith("*") and self.state.rstrip("~#!%$@^-+") not in _OUT_OF_USE


def of_partitions(parameters: Mapping[str, Any], configuration: str) -> list[Finding]:
    """Checks the named partitions, or the default one.  Raises SlurmError.

    configuration: the cluster's configuration, from scontrol.
    """
    named = parameters["partition"]
    first = attempt(lambda: check_parameters(parameters) or cluster.check_partition(named) or "")
    if first.state == FAILS:
        return [first]
    # Without --exact sinfo takes nodes of different sizes together, and gives the smallest size.
    answer = cluster.ask("sinfo", "--noheader", "--all", "--exact", f"--format={_COLUMNS}")
    known = [Nodes.read(row) for row in answer.splitlines() if row.count("|") == _COLUMNS.count("|")]
    names = named.split(",") if named else sorted({nodes.partition for nodes in known if nodes.default})
    if not names:
        return [Finding(FAILS, "Partition: none is named, and none is the default; say hydra.launcher.partition.")]
    return [finding for name in names for finding in _partition(name, known, parameters, configuration)]


def _partition(name: str, known: Sequence[Nodes], parameters: Mapping[str, Any], configuration: str) -> list[Finding]:
    members, minutes = [nodes for nodes in known if nodes.partition == name], parameters["timeout_min"]
    if not members or members[0].up != "up":
        state = members[0].up if members else "not described by sinfo"
        return [Finding(FAILS, f"Partition {name} is {state}: jobs would never start there; name another one.")]
    longest = cluster.in_seconds(members[0].limit)
    if longest is not None and longest < minutes * 60:
        words = f"Partition {name} lets jobs last {members[0].limit}; a job of {minutes} minutes never starts"
        return [Finding(FAILS, f"{words}. Say hydra.launcher.timeout_min={int(longest // 60)}, or name another one.")]
    well = Finding(OK, f"Partition {name}: it is up, and jobs may last {minutes} minutes there.")
    return [well, _nodes(name, members, known, parameters), *_preemption(name, configuration)]


def _nodes(name: str, of_partition: Sequence[Nodes], known: Sequence[Nodes], parameters: Mapping[str, Any]) -> Finding:
    """Whether some node has everything that a job asks for, and how the nodes differ."""
    present = [nodes for nodes in of_partition if nodes.count]
    if not present:
        return Finding(FAILS, f"Nodes of {name}: it has no nodes; name another partition.")
    fitting, lacking = _fitting(present, known, parameters)
    if not fitting:
        return Finding(FAILS, f"Nodes of {name}: {lacking}")
    if not any(nodes.in_use for nodes in fitting):
        states = ", ".join(sorted({nodes.state for nodes in fitting}))
        words = f"Nodes of {name}: all that fit are out of use ({states}), so that jobs would wait"
        return Finding(FAILS, f"{words}; name another partition, or ask who runs the cluster.")
    return _kinds(name, present, parameters)


def _fitting(
    present: Sequence[Nodes], known: Sequence[Nodes], parameters: Mapping[str, Any]
) -> tuple[Sequence[Nodes], str]:
    """The nodes that fit a job; if no node fits, the first parameter that is too large, with a way out."""
    cores = (parameters["cpus_per_task"] or 1) * max(1, parameters["tasks_per_node"])
    memory, constraint = int((parameters["mem_gb"] or 0) * 2**30), parameters.get("constraint")
    left = present
    if wants_gpu(parameters, "auto") and not (left := [nodes for nodes in present if "gpu" in nodes.gres]):
        others = sorted({nodes.partition for nodes in known if "gpu" in nodes.gres}) or ["none of this cluster"]
        words = "none has a GPU that Slurm knows of, and the jobs ask for one; partitions that have some"
        return [], f"{words}: {', '.join(others)}."
    if constraint and _FEATURE.fullmatch(constraint):
        some = [nodes for nodes in left if constraint in nodes.features.split(",")]
        if not some:
            features = ", ".join(sorted({nodes.features for nodes in left} - {"(null)"})) or "none"
            return [], f"none has the feature of hydra.launcher.constraint={constraint}; there are these: {features}."
        left = some
    most = max(nodes.cores for nodes in left)
    if most < cores:
        words = f"jobs ask for {cores} cores, and the largest has {most}"
        return [], f"{words}; lower hydra.launcher.cpus_per_task or tasks_per_node."
    left = [nodes for nodes in left if nodes.cores >= cores]
    largest = max(nodes.memory for nodes in left)
    if largest < memory:
        words = f"jobs ask for {in_bytes(memory)}, and the largest has {in_bytes(largest)}"
        return [], f"{words}; say hydra.launcher.mem_gb={math.floor(largest / 2**30)} or less."
    return [nodes for nodes in left if nodes.memory >= memory], ""


def _kinds(name: str, of_partition: Sequence[Nodes], parameters: Mapping[str, Any]) -> Finding:
    """How nodes differ according to Slurm: by features, and by types of GPUs."""
    features = Counter[str]()
    for nodes in of_partition:
        features[nodes.features] += nodes.count
    types = sorted({gpu_type for nodes in of_partition for gpu_type in _GPU_TYPE.findall(nodes.gres)})
    asked = parameters.get("constraint")
    if wants_gpu(parameters, "auto") and len(types) > 1 and not asked and not _GPU_TYPE.search(_gpus(parameters)):
        words = f"Nodes of {name} have GPUs of several types: {', '.join(types)}. Packs are planned for one kind of GPU"
        ways = f"hydra.launcher.gpus_per_node=null with hydra.launcher.gres=gpu:{types[0]}:1 asks for one type"
        return Finding(UNKNOWN, f"{words}, and a job on another kind ends at once; {ways}.")
    if list(features) == ["(null)"]:
        words = "Slurm names no features of these nodes, so it cannot be asked for nodes of one kind"
        return Finding(OK, f"Nodes of {name}: {words}.")
    words = f"Nodes of {name}: {', '.join(f'{count:,} with {each}' for each, count in sorted(features.items()))}"
    if len(features) > 1 and not asked:
        words += ". Their CPUs may differ, and a pack goes on only on the kind that began it; "
        return Finding(OK, f"{words}hydra.launcher.constraint=<feature> asks for one kind.")
    return Finding(OK, f"{words}{f'; constraint={asked} is asked for' if asked else ''}.")


def _gpus(parameters: Mapping[str, Any]) -> str:
    """The parameters about GPUs, in the form of gres."""
    extra = parameters["additional_parameters"]
    kinds = [f"gpu:{value}" for key, value in extra.items() if key.replace("_", "-").startswith("gpus")]
    return ",".join([parameters["gres"] or "", str(extra.get("gres", "")), *kinds])


def _preemption(name: str, configuration: str) -> list[Finding]:
    """Whether preempted jobs come back."""
    if re.search(r"^PreemptType\s*=\s*(preempt/none|\(null\)|none)", configuration, re.MULTILINE):
        return []
    said = cluster.ask("scontrol", "--oneliner", "show", "partition", name)
    fields = dict(word.split("=", 1) for word in said.split() if "=" in word)
    modes, grace = fields.get("PreemptMode", "OFF").split(","), fields.get("GraceTime", "0")
    if "CANCEL" in modes:
        words = f"Preemption: Slurm cancels jobs of {name} that give way to others, and does not start them again"
        return [Finding(UNKNOWN, f"{words}; then `python -m launch resume` starts new ones from the last checkpoints.")]
    if modes == ["OFF"]:
        return []
    comes = "stop, and go on later" if "SUSPEND" in modes else f"are told {grace} s before, and come back by themselves"
    return [Finding(OK, f"Preemption: jobs of {name} that give way to others {comes}.")]
