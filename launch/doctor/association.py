"""Account and quality of service: whether they are this user's, and let jobs last long enough."""

import re
from collections.abc import Mapping
from typing import Any

from launch.doctor.finding import FAILS, OK, UNKNOWN, Finding
from launch.launchers.slurm import cluster
from plasticity_lab.process.account import user_name

_ACCOUNTS = {"associations", "limits", "qos", "safe", "all"}
"""If AccountingStorageEnforce has one of these words, Slurm refuses accounts that are not the user's."""
_QOS, _LIMITS = {"qos", "all"}, {"limits", "safe", "all"}
"""The same for the quality of service, and for limits of time."""


def of_association(parameters: Mapping[str, Any], configuration: str) -> list[Finding]:
    """Nothing if none is named and none limits jobs.  configuration: the cluster's, as scontrol shows it."""
    account, qos, minutes = parameters["account"], parameters["qos"], parameters["timeout_min"]
    found = re.search(r"^AccountingStorageEnforce\s*=\s*(\S+)", configuration, re.MULTILINE)
    enforced = set(found[1].lower().split(",")) if found else set[str]()
    if not _ACCOUNTS & enforced:
        return [Finding(OK, f"Account {account}: this cluster takes any.")] if account else []
    user = user_name()
    try:
        own = _associations(user)
        longest = _limits_of_qos() if _LIMITS & enforced else {}
    except cluster.SlurmError as error:
        return [Finding(UNKNOWN, f"Account and quality of service: {error}")] if account or qos else []
    accounts = sorted({row[0] for row in own})
    if account and account.lower() not in accounts:
        are = f"there are {', '.join(accounts)}" if own else "no account is; ask who runs the cluster for one"
        return [Finding(FAILS, f"Account {account} is not one of {user}'s; {are}.")]
    meant = [row for row in own if account is None or row[0] == account.lower()]
    allowed = sorted({each for row in meant for each in row[1].split(",") if each})
    if qos and _QOS & enforced and qos.lower() not in allowed:
        are = f"say hydra.launcher.qos={' or '.join(allowed)}" if allowed else "ask who runs the cluster for it"
        return [Finding(FAILS, f"Quality of service {qos} is not one of {user}'s; {are}.")]
    defaults = {row[2] for row in meant}
    name = (qos or (defaults.pop() if len(defaults) == 1 else "")).lower()
    limit = cluster.in_seconds(longest.get(name, ""))
    if limit is not None and limit < minutes * 60:
        words = f"Quality of service {name} lets jobs last {longest[name]}; hydra.launcher.timeout_min={minutes} would"
        return [Finding(FAILS, f"{words} never start. Say hydra.launcher.timeout_min={int(limit // 60)}.")]
    words = [f"Account {account}: it is one of {user}'s."] if account else []
    words += [f"Quality of service {qos}: it lets jobs last {minutes} minutes."] if qos else []
    return [Finding(OK, each) for each in words]


def _associations(user: str) -> list[list[str]]:
    """The user's: account, qualities of service with commas between, the default one.  Raises SlurmError."""
    question = ("show", "associations", f"users={user}", "format=account,qos,defaultqos")
    return _rows(*question, columns=3)


def _limits_of_qos() -> dict[str, str]:
    """Quality of service → how long jobs may last, as Slurm writes it; empty for no limit.  Raises SlurmError."""
    return {name: limit for name, limit in _rows("show", "qos", "format=name,maxwall", columns=2)}


def _rows(*question: str, columns: int) -> list[list[str]]:
    rows = cluster.ask("sacctmgr", "--noheader", "--parsable2", *question).splitlines()
    return [row.split("|") for row in rows if row.count("|") == columns - 1]
