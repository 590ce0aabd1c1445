"""What every launcher does with a command's runs before it starts workers: the plan of what is left, and its data."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from launch.packs.leases import Leases
from launch.packs.owner import this_owner
from launch.packs.todo import Outstanding, adopted
from launch.plan.calibration import Calibration
from launch.plan.cost import sizes
from launch.plan.device import mode_of
from launch.plan.planner import plan
from plasticity_lab.data.folder import data_folder
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.data.sources import load_images, source_named
from plasticity_lab.errors import DataError
from plasticity_lab.records.identity import sweep_id
from plasticity_lab.records.plan import Plan
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store

ImagesOf = Callable[[str], ImageSet]
"""From the name of a source to its images."""


@dataclass(frozen=True)
class Resources:
    """What workers will have, as a plan sees it.

    kind: of their devices. compiler: whether torch.compile works there. memory: bytes a pack may use. workers: there
    are at least so many packs, where there are as many runs.
    """

    kind: str
    calibration: Calibration
    compiler: bool
    memory: int
    workers: int


def planned_for(
    store: Store,
    todo: Outstanding,
    settings: Settings,
    resources: Resources,
    images: ImagesOf,
    command: Sequence[str] | None = None,
) -> Plan:
    """The plan of what is left: unfinished packs of earlier plans as they are, the rest in new packs.

    command: the words by which the runs were asked for; None: this process's own.
    """
    leases = Leases(store, settings.launch.lease_seconds, this_owner())
    taken_on, known = adopted(store, todo.left, resources.kind, leases)
    rest = [run for run in todo.left if run.id not in known]
    packs = plan(
        rest,
        size_of=sizes(images),
        mode_of=lambda steps: mode_of(steps, settings.mode, resources.compiler),
        kind=resources.kind,
        calibration=resources.calibration,
        memory=resources.memory,
        workers=resources.workers,
        taken=lambda pack: store.done(pack).exists(),
        widest=todo.widest,
    )
    asked = sorted([*todo.finished, *todo.given_up, *(run.id for run in todo.left)])
    return Plan(
        sweep=sweep_id(asked),
        command=command or sys.orig_argv,
        asked=asked,
        runs=known | {run.id: run for run in rest},
        packs=[*taken_on, *packs],
        settings=settings,
    )


def images_of(data: Path | None) -> ImagesOf:
    """A function that loads image sets from a folder of data sets.  It raises DataError where one is missing."""
    return lambda source: load_images(source, data_folder(data))


def images_to_plan_with(data: Path | None) -> ImagesOf:
    """The same for plans that are only shown: where a set is missing, it says so once and takes an outline of it."""

    def images(source: str) -> ImageSet:
        try:
            return load_images(source, data_folder(data))
        except DataError as error:
            outline = source_named(source).outline
            if outline is None:
                raise
            print(f"{error} The plan below is for the set as published.", file=sys.stderr, flush=True)
            return outline()

    return cache(images)
