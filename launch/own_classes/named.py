"""The classes that are checked: those from outside the package, and choices of the package that the words name."""

import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from plasticity_lab.component import MOVED, Component, load
from plasticity_lab.run import Run, group_of

PACKAGE = "plasticity_lab"


@dataclass(frozen=True)
class OwnClass:
    """A class that is checked.

    run: the first of a command's runs with this class and this structure. It has one option of each group, and no group
    that is no science, except the class's own.
    """

    group: str
    run: Run

    @property
    def cls(self) -> type[Component]:
        """The class."""
        return load(self.run.targets[self.group])

    @property
    def choice(self) -> str:
        """As it is typed: activation=mine."""
        return f"{self.group}={self.run.name(self.group)}"

    @property
    def description(self) -> str:
        """The choice, the class, its file and line."""
        return f"{self.choice} ({self.cls.__module__}.{self.cls.__qualname__}, {place(self.cls)})"


@dataclass(frozen=True)
class Fault:
    """A fault of a class. what: a sentence without its end. where: the place in its file."""

    what: str
    where: str


def own_classes(runs: Iterable[Run], named: Collection[str] = ()) -> list[OwnClass]:
    """The classes from outside the package that runs name: one for each structure of each, in the order of the runs.

    named: groups; their classes are in the result even if they belong to the package.
    """
    classes: dict[tuple[str, str, str], OwnClass] = {}
    last: Mapping[str, str] = {}
    for run in runs:
        if run.targets is last:
            continue  # runs that differ only in their seeds share one object: a sweep may have 100,000
        last = run.targets
        for address, target in run.targets.items():
            ours = MOVED.get(target, target).startswith(f"{PACKAGE}.") or not is_own(load(target))
            if ours and group_of(address) not in named:
                continue
            on_axis = load(target).run_axis_settings()
            structure = {name: value for name, value in run.settings(address).items() if name not in on_axis}
            key = (group_of(address), target, repr({"name": run.name(address), **structure}))
            if key not in classes:
                classes[key] = OwnClass(group_of(address), _with_one_of_each(run, address))
    return list(classes.values())


def _with_one_of_each(run: Run, address: str) -> Run:
    """The run with one option of each group; in the group of `address`, the option at `address`.

    Other groups that are no science are left out.
    """
    own_group = group_of(address)
    for group in dict.fromkeys(map(group_of, run.targets)):
        kept = address if group == own_group else run.addresses(group)[0]
        run = run.with_option(kept, run.name(kept), run.targets[kept], run.settings(kept))
    left_out = run.besides.keys() - {own_group}
    besides = {group: settings for group, settings in run.besides.items() if group not in left_out}
    targets = {group: target for group, target in run.targets.items() if group not in left_out}
    return replace(run, besides=besides, targets=targets)


def is_own(cls: type) -> bool:
    """Whether a class was written outside the package."""
    return cls.__module__.partition(".")[0] not in (PACKAGE, "builtins", "typing", "abc")


def own_bases(cls: type) -> Iterator[type]:
    """The class and its bases that are checked with it, the nearest first.

    They were written outside the package; for a class of the package they are in the same file as the class.
    """
    if is_own(cls):
        return (base for base in cls.__mro__ if is_own(base))
    return (base for base in cls.__mro__ if base.__module__ == cls.__module__)


def place(what: Any) -> str:
    """The file and line of a class, or of a method; its module if Python does not know them."""
    function = inspect.unwrap(getattr(what, "fget", None) or getattr(what, "__func__", None) or what)
    try:
        return f"{Path(inspect.getsourcefile(function) or '').absolute()}, line {inspect.getsourcelines(function)[1]}"
    except (OSError, TypeError):
        return f"module {getattr(function, '__module__', None) or '?'}"


def place_of(cls: type, name: str) -> str:
    """The place of a class's member: the line of a method; for other members, the line of the class."""
    for base in own_bases(cls):
        member = vars(base).get(name)
        if member is not None:
            return place(member if callable(member) or hasattr(member, "fget") else base)
    return place(cls)
