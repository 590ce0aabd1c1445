"""The first steps of every launcher: sort the runs of a command, and plan the runs that are left."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from launch.launchers.finished import damaged_files, damaged_jobs
from launch.own_classes.check import check_own_classes
from launch.packs.begun_otherwise import Earlier, what_becomes_of
from launch.packs.endings import REPLACED, UNKNOWN, Ending, end_unheld, write_ending
from launch.packs.todo import Outstanding, adopted, outstanding, tidied
from launch.plan.planner import CostOf, Resources, TooLarge, plan, widest_pack
from launch.tracking.wandb.environment import decided
from launch.wording import said_while, say
from plasticity_lab import assembly
from plasticity_lab.agents.cost import Cost
from plasticity_lab.data.folder import data_folder
from plasticity_lab.diagnostics.chosen import names_of
from plasticity_lab.errors import PlanError, StoreError
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.records.damage import DamagedFile, rename_aside
from plasticity_lab.records.identity import sweep_id
from plasticity_lab.records.kinds import sort_of
from plasticity_lab.records.plan import NewerPlan, Pack, Plan, write_plan
from plasticity_lab.records.provenance import code_here
from plasticity_lab.records.record_facts import ended_for
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run


@dataclass(frozen=True)
class Prepared:
    """The runs of a command, sorted and planned; nothing is written yet.

    settings: the command's settings, with `tracking=auto` decided. cost_of: the costs that the plan uses. unreadable:
    the errors of damaged files in the store; the plan was made without these files. earlier: the unfinished packs of
    earlier plans, sorted. of_another: whether the plan is part of a plan that is already in the store.
    """

    store: Store
    settings: Settings
    resources: Resources
    cost_of: CostOf
    todo: Outstanding
    plan: Plan
    unreadable: Sequence[StoreError]
    earlier: Earlier
    of_another: bool = False

    def packs_for_workers(self) -> list[Pack]:
        """The packs for the workers' sort of device.  Raises PlanError if the plan has no such pack."""
        sort = sort_of(self.resources.kind)
        packs = [pack for pack in self.plan.packs if sort_of(pack.kind) == sort]
        if not packs:
            kinds = ", ".join(sorted({pack.kind for pack in self.plan.packs}))
            raise PlanError(f"Workers on {kinds} train all that is left, and it goes on only there: wait for them.")
        return packs


@said_while("Planning")
def prepared(
    runs: Sequence[Run], settings: Settings, resources: Resources, command: Sequence[str] | None = None
) -> Prepared:
    """Sorts the runs of a command, and plans the runs that are left.  Prints whether W&B tracks them.

    command: the words of the command that requests the runs; None: this process's command.
    Raises DataError, PlanError, ConfigError, StoreError; OwnClassError for a class from outside the package.
    """
    store, command = Store(settings.store), command or sys.orig_argv
    tracking, where = decided(settings.tracking)
    settings = settings.model_copy(update={"tracking": tracking})
    todo = outstanding(store, runs, settings.rerun, settings.launch.retries, ended_for(settings))
    if not settings.dry_run:  # a dry run packs nothing
        check_own_classes(todo.left, settings, command)
    cost_of = (costs_to_show if settings.dry_run else costs_to_train)(settings)
    unreadable: list[StoreError] = list(resources.damaged)
    packs, known = adopted(store, todo.left, resources.kind, settings.launch.lease_seconds, unreadable)
    earlier = what_becomes_of(store, packs, known, todo.left, settings, resources.kind, resources.known)
    planned = _planned(store, todo, settings, resources, cost_of, command, earlier, known)
    if store.root.exists():
        unreadable += damaged_files(store, todo.packs.keys() | {pack.id for pack in planned.packs})
        unreadable += damaged_jobs(store, [planned.sweep])
    if where and todo.left:
        say(where)
    firsts = [(planned.runs[pack.runs[0]], pack.updates) for pack in planned.packs]  # a pack's runs have equal lengths
    say(*too_short(firsts), *unseen((run for run, _ in firsts), cost_of))
    return Prepared(store, settings, resources, cost_of, todo, planned, unreadable, earlier)


def put_in_order(ready: Prepared) -> list[str]:
    """Sets damaged files aside, adds new names to finished runs' records, and writes the plan if runs are left.

    Returns a line for each damaged file.  Raises StoreError.
    """
    store, todo, sweep = ready.store, ready.todo, ready.plan.sweep
    lines = tidied(store, todo, sweep, ready.settings.launch.lease_seconds)
    for pack in ready.earlier.replaced:
        end_unheld(store, pack.id, Ending(REPLACED), [], pack.runs)
    lines += [_set_aside(ready, error) for error in ready.unreadable]
    damaged = any(isinstance(error, DamagedFile) and error.path == store.plan(sweep) for error in ready.unreadable)
    if (todo.left or damaged) and not ready.of_another:
        write_plan(store, ready.plan)
    return lines


def at_once(run: Run, resources: Resources, settings: Settings) -> int:
    """The number of runs like this one that train at once: the width of a pack, or the number of workers if larger.

    Raises ConfigError, DataError.
    """
    cost = costs_to_show(settings)(run)
    try:
        width = widest_pack(run, cost, resources.choice(cost, settings.mode).mode, resources)
    except TooLarge:
        width = 1  # planning the run will raise the error
    return max(width, resources.workers)


def costs_to_train(settings: Settings) -> CostOf:
    """A function that returns the cost of a run.  It raises DataError if files are missing, ConfigError."""
    return costs(assembly.resources(data_folder(settings.data)), settings.replay_memory_compressed)


def costs_to_show(settings: Settings) -> CostOf:
    """As `costs_to_train`, but for plans that are only shown.

    It prints once which files are missing, and estimates costs without them if possible.
    """
    return costs(assembly.resources_or_outlines(data_folder(settings.data), say), settings.replay_memory_compressed)


def costs(resource_of: assembly.ResourceOf, compressed: str = "auto") -> CostOf:
    """A function that returns the cost of a run, computed once for all runs that could share a pack.

    compressed: whether replay memories are (`Settings.replay_memory_compressed`).
    """
    known: dict[str, Cost] = {}

    def price(run: Run) -> Cost:
        key = run.structure()
        if key not in known:
            known[key] = assembly.cost_of(run, resource_of(run), compressed)
        return known[key]

    return price


def _planned(
    store: Store,
    todo: Outstanding,
    settings: Settings,
    resources: Resources,
    cost_of: CostOf,
    command: Sequence[str],
    earlier: Earlier,
    known: Mapping[str, Run],
) -> Plan:
    """The plan of the runs that are left: unchanged unfinished packs of earlier plans, and new packs for other runs.

    known: id → run, for the runs of earlier packs.
    """
    taken_on = {run for pack in earlier.going_on for run in pack.runs}
    rest = [run for run in todo.left if run.id not in taken_on]
    replaced = {pack.id for pack in earlier.replaced}
    packs = plan(
        rest,
        resources,
        cost_of,
        mode_of=lambda run, cost: resources.choice(cost, settings.mode).mode,
        widest=todo.widest,
        taken=lambda pack: pack in replaced or store.done(pack).exists(),
    )
    asked = sorted([*todo.finished, *todo.given_up, *(run.id for run in todo.left)])
    return Plan(
        sweep=sweep_id(asked),
        command=command,
        asked=asked,
        runs={id: run for id, run in known.items() if id in taken_on} | {run.id: run for run in rest},
        packs=[*earlier.going_on, *packs],
        settings=settings,
        code=code_here(),
    )


def _set_aside(ready: Prepared, error: StoreError) -> str:
    """Renames a damaged file if possible, and returns a line about it.

    Raises the error if the file is a newer version's plan of the same sweep: it would be overwritten.
    """
    if isinstance(error, NewerPlan) and error.sweep == ready.plan.sweep and ready.todo.left:
        raise error
    if not isinstance(error, DamagedFile):
        return str(error)
    try:
        aside = rename_aside(error.path)
        if error.path.parent == ready.store.done_folder:
            write_ending(ready.store, error.path.name, Ending(UNKNOWN), [])
    except StoreError:
        return str(error)  # the file can stay: the plan was made without it
    return f"{error} It is {aside.name} now."


def too_short(runs: Iterable[tuple[Run, int]]) -> list[str]:
    """A line for each part of a run's work that would begin only after the run's end: learning, or an intervention.

    runs: pairs of a run and its number of updates.
    """
    return list(dict.fromkeys(line for run, updates in runs for line in _of(run, updates)))


def unseen(runs: Iterable[Run], cost_of: Callable[[Run], Cost]) -> list[str]:
    """A line for each network without anything that a run's diagnostics can measure."""
    asked = ((run, names_of(run)) for run in runs)
    lines = (
        f"diagnostics: {' and '.join(names)} finds nothing to measure in network={run.name('network')} with "
        f"agent={run.name('agent')}, so that these runs have no column of it."
        for run, names in asked
        if names and len(cost_of(run).left_out) == len(names)
    )
    return list(dict.fromkeys(lines))


def _of(run: Run, updates: int) -> Iterator[str]:
    intervention, benchmark = run.component("intervention", Intervention), run.name("benchmark")
    if not updates:
        waits = run.science["agent"].get("min_history")
        shorter = "" if waits is None else f", or agent.min_history below {waits:,}"
        yield (
            f"agent: {run.name('agent')} makes no update in a run of {benchmark}, so that nothing is learned; choose a "
            f"longer run{shorter}."
        )
        return
    for key, first in intervention.first_after().items():
        if first > updates:
            yield (
                f"intervention: intervention.{key}={first:,} comes after the {updates:,} updates of a run of "
                f"{benchmark}, so that nothing is done there; choose {updates:,} or less."
            )
    if intervention.between_tasks and run.science["benchmark"].get("tasks") == 1:
        yield (
            f"intervention: {run.name('intervention')} begins when a first task has ended, and a run of "
            f"{benchmark} with benchmark.tasks=1 ends with it, so that nothing is done there; choose more tasks."
        )
