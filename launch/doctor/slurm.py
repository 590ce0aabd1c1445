"""What is asked of Slurm on a login node, before anything is submitted."""

from collections.abc import Mapping
from typing import Any

from launch.doctor.association import of_association
from launch.doctor.finding import FAILS, OK, Finding, attempt
from launch.doctor.partitions import of_partitions
from launch.launchers.slurm import cluster


def of_slurm(parameters: Mapping[str, Any]) -> list[Finding]:
    """Commands, controller, accounting, account and partition: without any of them no job is sent."""
    there = attempt(_commands)
    if there.state == FAILS:
        return [there]
    try:
        configuration = cluster.ask("scontrol", "show", "config")
    except cluster.SlurmError as error:
        return [there, Finding(FAILS, f"The controller does not answer: {error}")]
    found = [there, _accounting(), *_requeue(parameters), *of_association(parameters, configuration)]
    try:
        return [*found, *of_partitions(parameters, configuration)]
    except cluster.SlurmError as error:
        return [*found, Finding(FAILS, f"Partitions: {error}")]


def _commands() -> str:
    cluster.check_there()
    return f"Slurm: {', '.join(cluster.COMMANDS)} are here ({cluster.ask('sinfo', '--version').strip()})."


def _requeue(parameters: Mapping[str, Any]) -> list[Finding]:
    """Whether the command itself keeps jobs from coming back."""
    extra = {key.replace("_", "-"): value for key, value in parameters["additional_parameters"].items()}
    if not extra.get("no-requeue") and extra.get("requeue", True):
        return []
    words = (
        "Requeue: with these additional_parameters no job comes back after preemption, a lost node or its time limit"
    )
    return [Finding(FAILS, f"{words}; leave requeue and no-requeue out.")]


def _accounting() -> Finding:
    """Sweeps do without it: what they need to know of jobs they ask squeue, and the store."""
    try:
        cluster.ask("sacct", "--noheader", "--allocations", "--starttime=now", "--format=SubmitLine")
    except cluster.SlurmError as error:
        return Finding(
            OK, f"Accounting: none ({error}) Sweeps need none; but why a job ended is forgotten minutes afterwards."
        )
    return Finding(OK, "Accounting: sacct answers.")
