"""What every launcher does with a command's runs before it starts workers: which are left, and the plan of them."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from launch.own_classes.check import check_own_classes
from launch.packs.begun_otherwise import Earlier, put_aside, what_becomes_of
from launch.packs.todo import Outstanding, adopted, outstanding, tidied
from launch.plan.calibration import calibration_of
from launch.plan.compiling import NotCompiled
from launch.plan.figures import default_calibration
from launch.plan.mode import Choice, choice_of
from launch.plan.planner import plan
from launch.plan.speed import Calibration
from launch.plan.too_short import too_short, unseen
from launch.tracking.choice import decided
from launch.wording import said_while, say
from plasticity_lab import assembly
from plasticity_lab.agents.cost import Cost
from plasticity_lab.data.folder import data_folder
from plasticity_lab.errors import StoreError
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.identity import sweep_id
from plasticity_lab.records.plan import OtherFormat, Pack, Plan, write_plan
from plasticity_lab.records.provenance import code_here
from plasticity_lab.records.record_facts import ended_for
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

CostOf = Callable[[Run], Cost]
"""From a run to what it costs."""


@dataclass(frozen=True)
class Resources:
    """What workers will have, as a plan sees it.

    kind: of their devices, in whose modes and widths packs are planned. uncompiled: why
    nothing can be compiled there; None where it can.
    memory: bytes a pack may use on its device. workers: there are at least as many packs as workers, where there are as
    many runs. damaged: a calibration that cannot be read. known: whether workers are of this very kind; on a cluster
    they may be of any of its sort. host_memory: bytes a pack may use beside a GPU's, as far as is known.
    """

    kind: str
    calibration: Calibration
    uncompiled: NotCompiled | None
    memory: int
    workers: int
    damaged: Sequence[DamagedFile] = ()
    known: bool = True
    host_memory: int = sys.maxsize

    def choice(self, cost: Cost, setting: str) -> Choice:
        """The mode of a run there, and why.  setting: the command's.  Raises ConfigError."""
        return choice_of(cost, self.kind, setting, self.uncompiled, self.calibration.modes)


@dataclass(frozen=True)
class Prepared:
    """A command's runs, sorted and planned; nothing is written yet.

    settings: the command's, with `tracking=auto` decided. cost_of: as the plan priced the runs. unreadable: what is
    wrong with files of the store that it was made without. earlier: what becomes of unfinished packs of earlier plans.
    of_another: whether the plan is a part of one that is in the store already.
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


@said_while("Planning")
def prepared(
    runs: Sequence[Run], settings: Settings, resources: Resources, command: Sequence[str] | None = None
) -> Prepared:
    """Sorts a command's runs, and plans those that are left.  Says where they are written besides the store.

    command: the words by which the runs were asked for; None: this process's own.
    Raises DataError, PlanError, ConfigError, StoreError; OwnClassError for a class from outside the package.
    """
    store = Store(settings.store)
    tracking, where = decided(settings.tracking)
    settings = settings.model_copy(update={"tracking": tracking})
    todo = outstanding(store, runs, settings.rerun, settings.launch.retries, ended_for(settings))
    if not settings.dry_run:  # which packs nothing
        check_own_classes(todo.left, settings, command or sys.orig_argv)
    prices = (costs_to_show if settings.dry_run else costs_to_train)(settings)
    unreadable: list[StoreError] = list(resources.damaged)
    packs, known = adopted(store, todo.left, resources.kind, settings.launch.lease_seconds, unreadable)
    earlier = what_becomes_of(store, packs, known, todo.left, settings, resources.kind, resources.known)
    planned = _planned(store, todo, settings, resources, prices, command or sys.orig_argv, earlier, known)
    if store.root.exists():
        from launch.launchers.damage import damaged_files, damaged_jobs  # in a new store there is nothing to look at

        unreadable += damaged_files(store, todo.packs.keys() | {pack.id for pack in planned.packs})
        unreadable += damaged_jobs(store, [planned.sweep])
    if where and todo.left:
        say(where)
    firsts = [(planned.runs[pack.runs[0]], pack.updates) for pack in planned.packs]  # equal within one
    for line in [*too_short(firsts), *unseen((run for run, _ in firsts), prices)]:
        say(line)
    return Prepared(store, settings, resources, prices, todo, planned, unreadable, earlier)


def put_in_order(ready: Prepared) -> list[str]:
    """Sets aside what is damaged, gives finished runs their new names, and writes the plan if runs are left.

    Returns a line for each thing that was damaged.  Raises StoreError.
    """
    store, todo, sweep = ready.store, ready.todo, ready.plan.sweep
    lines = tidied(store, todo, sweep, ready.settings.launch.lease_seconds)
    put_aside(store, ready.earlier.replaced)
    lines += [_set_aside(ready, error) for error in ready.unreadable]
    if ready.of_another:
        return lines
    if todo.left or any(isinstance(e, DamagedFile) and e.path == store.plan(sweep) for e in ready.unreadable):
        write_plan(store, ready.plan)
    return lines


def calibrated(store: Store, kind: str) -> tuple[Calibration, list[DamagedFile]]:
    """The calibration of a device kind, the default one where it is damaged, and what is wrong with it.

    Raises StoreError.
    """
    try:
        return calibration_of(kind, store), []
    except DamagedFile as error:
        return default_calibration(kind), [error]


def packed(
    runs: Sequence[Run],
    widest: Mapping[str, int],
    resources: Resources,
    prices: CostOf,
    mode: Callable[[Run, Cost], str],
    taken: Callable[[str], bool] = lambda pack: False,
) -> list[Pack]:
    """Runs in new packs.

    widest: the most runs that may share a pack with one of them. mode: of a run and what it costs. taken: whether a
    pack's id is that of an earlier attempt.  Raises PlanError, DataError.
    """
    return plan(
        runs,
        cost_of=prices,
        mode_of=mode,
        kind=resources.kind,
        calibration=resources.calibration,
        memory=resources.memory,
        host_memory=resources.host_memory,
        workers=resources.workers,
        taken=taken,
        widest=widest,
    )


def costs_to_train(settings: Settings) -> CostOf:
    """A function that prices runs.  It raises DataError where files are missing, ConfigError."""
    return costs(assembly.resources(data_folder(settings.data)))


def costs_to_show(settings: Settings) -> CostOf:
    """The same for plans that are only shown: it says once which files are missing, and does without them if it can."""
    return costs(assembly.resources_or_outlines(data_folder(settings.data), say))


def costs(resource_of: assembly.ResourceOf) -> CostOf:
    """A function that prices runs, once for all that could share a pack."""
    known: dict[str, Cost] = {}

    def price(run: Run) -> Cost:
        key = run.structure()
        if key not in known:
            known[key] = assembly.cost_of(run, resource_of(run))
        return known[key]

    return price


def _planned(
    store: Store,
    todo: Outstanding,
    settings: Settings,
    resources: Resources,
    prices: CostOf,
    command: Sequence[str],
    earlier: Earlier,
    known: Mapping[str, Run],
) -> Plan:
    """The plan of what is left: unfinished packs of earlier plans as they are, the rest in new packs.

    known: the runs of earlier packs.
    """
    taken_on = {run for pack in earlier.going_on for run in pack.runs}
    rest = [run for run in todo.left if run.id not in taken_on]
    gone = {pack.id for pack in earlier.replaced}
    packs = packed(
        rest,
        todo.widest,
        resources,
        prices,
        mode=lambda run, cost: resources.choice(cost, settings.mode).mode,
        taken=lambda pack: pack in gone or store.done(pack).exists(),
    )
    asked = sorted([*todo.finished, *todo.given_up, *(run.id for run in todo.left)])
    return Plan(
        sweep=sweep_id(asked),
        command=command,
        asked=asked,
        runs={run: known[run] for run in known if run in taken_on} | {run.id: run for run in rest},
        packs=[*earlier.going_on, *packs],
        settings=settings,
        code=code_here(),
    )


def _set_aside(ready: Prepared, error: StoreError) -> str:
    """A line about a file that cannot be read, which is renamed where it can be.

    Raises the error where it is another version's plan of this very sweep, which would be overwritten.
    """
    if isinstance(error, OtherFormat) and error.sweep == ready.plan.sweep and ready.todo.left:
        raise error
    if not isinstance(error, DamagedFile):
        return str(error)
    from launch.launchers import damage  # most stores have nothing to set aside

    try:
        return damage.put_aside(ready.store, error)
    except StoreError:
        return str(error)  # it can be left where it is: what follows does without it
