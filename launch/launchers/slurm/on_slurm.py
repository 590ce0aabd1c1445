"""Whether a sweep was given to Slurm, and what is said where the store does not know with which parameters."""

from launch.launchers.slurm.submissions import Submission, submissions_of
from launch.packs.lease_files import LeaseFiles
from launch.packs.sweep import in_words
from plasticity_lab.errors import StoreError
from plasticity_lab.records.plan import Plan
from plasticity_lab.records.store import Store


def was_on_slurm(store: Store, plan: Plan) -> bool:
    """Whether jobs of Slurm's have, or had, packs of the sweep, or left logs.  Raises StoreError."""
    if (store.sweep_folder(plan.sweep) / "jobs").exists():
        return True
    leases, packs = LeaseFiles(store), {pack.id for pack in plan.packs}
    owners = (leases.owner(pack, epoch) for pack, epoch in leases.epochs().items() if pack in packs)
    return any(owner is not None and owner.job is not None for owner in owners)


def last_submission(store: Store, plan: Plan) -> Submission:
    """The latest submission of a sweep that can be read.  Raises StoreError that says how to go on without one."""
    unreadable: list[StoreError] = []
    found = submissions_of(store, plan.sweep, unreadable)
    if found:
        return found[-1]
    if unreadable:
        why = str(unreadable[-1])
    elif was_on_slurm(store, plan):
        why = (
            f"Sweep {plan.sweep} was given to Slurm, but {store.submissions_folder(plan.sweep)}, which says with "
            "which parameters, is missing."
        )
    else:
        raise not_on_slurm(plan)
    raise StoreError(
        f"{why} The command itself goes on, and counts the workers that are there: {in_words(plan.command)}"
    )


def not_on_slurm(plan: Plan) -> StoreError:
    """What is said of a sweep that local workers train."""
    return StoreError(
        f"Sweep {plan.sweep} was not given to Slurm, but trained where its command was given: Ctrl-C stops it, and "
        f"the same command, which `python -m launch status {plan.sweep}` shows, goes on."
    )
