"""What every launcher does with a command's runs before it starts workers: which are left, and the plan of them."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from launch.own_classes.check import check_own_classes
from launch.packs.other_code import begun_by_other_code, free_to_replace, put_aside, said_of_them
from launch.packs.other_diagnostics import begun_with_others
from launch.packs.other_diagnostics import said_of_them as said_of_others
from launch.packs.other_kinds import said_of_anew, to_train_anew
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
from plasticity_lab.records.code import code_here
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.identity import sweep_id
from plasticity_lab.records.kept_files import ended_for
from plasticity_lab.records.plan import OtherFormat, Pack, Plan, write_plan
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
    wrong with files of the store that it was made without. mixed: what is said of packs that go on by other code
    than began them, if there are any. anew: what is said of packs that were begun on other kinds of device, of
    which there are no workers. looked_at: what is said of packs that go on with other diagnostics. replaced: packs
    that do not go on, because their runs were planned anew. of_another: whether the plan is a part of one that is in
    the store already.
    """

    store: Store
    settings: Settings
    resources: Resources
    cost_of: CostOf
    todo: Outstanding
    plan: Plan
    unreadable: Sequence[StoreError]
    mixed: str = ""
    anew: str = ""
    looked_at: str = ""
    replaced: Sequence[Pack] = ()
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
    going_on, known = adopted(store, todo.left, resources.kind, settings.launch.lease_seconds, unreadable)
    going_on, without_workers, anew = _on_kinds_that_are_there(store, going_on, resources, settings)
    going_on, by_other_code, mixed = _by_one_code(store, going_on, known, settings)
    going_on, with_others, looked_at = _with_these_diagnostics(store, going_on, known, todo.left, settings)
    replaced = [*without_workers, *by_other_code, *with_others]
    planned = _planned(store, todo, settings, resources, prices, command or sys.orig_argv, going_on, known, replaced)
    if store.root.exists():
        from launch.launchers.damage import damaged_files, damaged_jobs  # in a new store there is nothing to look at

        unreadable += damaged_files(store, todo.packs.keys() | {pack.id for pack in planned.packs})
        unreadable += damaged_jobs(store, [planned.sweep])
    if where and todo.left:
        say(where)
    packs = [(planned.runs[pack.runs[0]], pack.updates) for pack in planned.packs]  # equal within one
    for line in [*too_short(packs), *unseen((run for run, _ in packs), prices)]:
        say(line)
    return Prepared(store, settings, resources, prices, todo, planned, unreadable, mixed, anew, looked_at, replaced)


def put_in_order(ready: Prepared) -> list[str]:
    """Sets aside what is damaged, gives finished runs their new names, and writes the plan if runs are left.

    Returns a line for each thing that was damaged.  Raises StoreError.
    """
    store, todo, sweep = ready.store, ready.todo, ready.plan.sweep
    lines = tidied(store, todo, sweep, ready.settings.launch.lease_seconds)
    put_aside(store, ready.replaced)
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


def _on_kinds_that_are_there(
    store: Store, packs: Sequence[Pack], resources: Resources, settings: Settings
) -> tuple[Sequence[Pack], Sequence[Pack], str]:
    """Of adopted packs those that go on, those that are replaced because no worker of their kind comes, and what is
    said of the latter.  Raises StoreError.
    """
    anew = to_train_anew(store, packs, resources.kind, resources.known, settings.launch.lease_seconds)
    kept, replaced = [pack for pack in packs if pack.id not in anew], [pack for pack in packs if pack.id in anew]
    return kept, replaced, said_of_anew(list(anew.values()), resources.kind) if anew else ""


def _with_these_diagnostics(
    store: Store, packs: Sequence[Pack], known: Mapping[str, Run], left: Sequence[Run], settings: Settings
) -> tuple[Sequence[Pack], Sequence[Pack], str]:
    """Of adopted packs those that go on, those that a rerun replaces because they began with other diagnostics, and
    what is said of the others that did.  Raises StoreError.
    """
    others = begun_with_others(packs, known, left)
    replaced = free_to_replace(store, others, settings.launch.lease_seconds) if settings.rerun else []
    kept = [pack for pack in others if pack not in replaced]
    return [pack for pack in packs if pack not in replaced], replaced, said_of_others(kept) if kept else ""


def _by_one_code(
    store: Store, packs: Sequence[Pack], known: Mapping[str, Run], settings: Settings
) -> tuple[Sequence[Pack], Sequence[Pack], str]:
    """Of adopted packs those that go on, those that a rerun replaces because other code began them, and what is said
    of the others that other code began.  Raises StoreError, ConfigError.
    """
    begun = begun_by_other_code(store, packs, known)
    others = [pack for pack in packs if pack.id in begun]
    replaced = free_to_replace(store, others, settings.launch.lease_seconds) if settings.rerun else []
    mixed = [pack for pack in others if pack not in replaced]
    return [pack for pack in packs if pack not in replaced], replaced, said_of_them(mixed, begun) if mixed else ""


def _planned(
    store: Store,
    todo: Outstanding,
    settings: Settings,
    resources: Resources,
    prices: CostOf,
    command: Sequence[str],
    going_on: Sequence[Pack],
    known: Mapping[str, Run],
    replaced: Sequence[Pack],
) -> Plan:
    """The plan of what is left: unfinished packs of earlier plans as they are, the rest in new packs.

    going_on: such packs; replaced: those whose runs are planned anew. known: the runs of both.
    """
    taken_on = {run for pack in going_on for run in pack.runs}
    rest = [run for run in todo.left if run.id not in taken_on]
    gone = {pack.id for pack in replaced}
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
        packs=[*going_on, *packs],
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
