"""Which classes from outside the package a command's runs name, and where in whose file something of theirs stands."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from plasticity_lab.component import MOVED, Component, load
from plasticity_lab.run import Run, group_of

PACKAGE = "plasticity_lab"


@dataclass(frozen=True)
class OwnClass:
    """A class from outside the package.

    run: the first of a command's runs with this class and this structure, with one option of each group, and of the
    groups that are no science with none but the class's own.
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
    """What is wrong with a class: a sentence without its end, and where that stands."""

    what: str
    where: str


def own_classes(runs: Iterable[Run]) -> list[OwnClass]:
    """The classes from outside the package that runs name: one for each structure of each, in the order of the runs."""
    found: dict[tuple[str, str, str], OwnClass] = {}
    last: Mapping[str, str] = {}
    for run in runs:
        if run.targets is last:
            continue  # runs that differ in nothing but their seeds share one object: a sweep may have 100,000
        last = run.targets
        for address, target in run.targets.items():
            if MOVED.get(target, target).startswith(f"{PACKAGE}.") or not is_own(load(target)):
                continue
            axis = load(target).run_axis_settings()
            alike = {name: value for name, value in run.settings(address).items() if name not in axis}
            key = (group_of(address), target, repr({"name": run.name(address), **alike}))
            if key not in found:
                found[key] = OwnClass(group_of(address), _with_one_of_each(run, address))
    return list(found.values())


def _with_one_of_each(run: Run, address: str) -> Run:
    """The run with one option of each group, of its own group that of the address; others of no science left out."""
    group = group_of(address)
    for each in dict.fromkeys(map(group_of, run.targets)):
        kept = address if each == group else run.addresses(each)[0]
        run = run.with_option(kept, run.name(kept), run.targets[kept], run.settings(kept))
    besides = {each: settings for each, settings in run.besides.items() if each == group}
    left_out = run.besides.keys() - besides.keys()
    targets = {each: target for each, target in run.targets.items() if each not in left_out}
    return replace(run, besides=besides, targets=targets)


def is_own(cls: type) -> bool:
    """Whether a class was written outside the package."""
    return cls.__module__.partition(".")[0] not in (PACKAGE, "builtins", "typing", "abc")


def own_bases(cls: type) -> Iterator[type]:
    """The class and those of its bases that were written outside the package, the nearest first."""
    return (base for base in cls.__mro__ if is_own(base))


def place(what: Any) -> str:
    """The file and line of a class, or of a method; its module, where Python does not know."""
    function = inspect.unwrap(getattr(what, "fget", None) or getattr(what, "__func__", None) or what)
    try:
        return f"{Path(inspect.getsourcefile(function) or '').absolute()}, line {inspect.getsourcelines(function)[1]}"
    except (OSError, TypeError):
        return f"module {getattr(function, '__module__', None) or '?'}"


def place_of(cls: type, name: str) -> str:
    """Where something that a class has stands: a method's own line, else the line of the class."""
    for base in own_bases(cls):
        member = vars(base).get(name)
        if member is not None:
            return place(member if callable(member) or hasattr(member, "fget") else base)
    return place(cls)
