"""Which classes from outside the package a command's runs name, and where in whose file something of theirs stands."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plasticity_lab.component import MOVED, Component, load
from plasticity_lab.run import Run

PACKAGE = "plasticity_lab"


@dataclass(frozen=True)
class OwnClass:
    """A class from outside the package.  run: the first of a command's runs with this class and this structure."""

    group: str
    run: Run

    @property
    def cls(self) -> type[Component]:
        """The class."""
        return load(self.run.targets[self.group])

    @property
    def choice(self) -> str:
        """As it is typed: activation=mine."""
        return f"{self.group}={self.run.science[self.group]['name']}"

    @property
    def told(self) -> str:
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
        for group, target in run.targets.items():
            if MOVED.get(target, target).startswith(f"{PACKAGE}.") or not is_own(load(target)):
                continue
            axis = load(target).run_axis_settings()
            structure = {name: value for name, value in run.science[group].items() if name not in axis}
            found.setdefault((group, target, repr(structure)), OwnClass(group, run))
    return list(found.values())


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
