"""Questions to Slurm on a login node, before anything is submitted: commands, controller, accounts, partitions."""

import re
from collections.abc import Mapping
from typing import Any

from launch.doctor.finding import FAILS, OK, UNKNOWN, Finding, attempt
from launch.doctor.partitions import of_partitions
from launch.launchers.slurm import cluster
from plasticity_lab.process.account import user_name

_ACCOUNTS = {"associations", "limits", "qos", "safe", "all"}
"""With one of these words in AccountingStorageEnforce, Slurm refuses other users' accounts."""
_QOS, _LIMITS = {"qos", "all"}, {"limits", "safe", "all"}
"""The corresponding words for the quality of service, and for time limits."""


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
