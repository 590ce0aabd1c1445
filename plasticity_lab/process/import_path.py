"""Which folders modules come from: `python -m` looks into the current folder first, where anything may lie.

Commands import this before all else, so that somebody's own `analysis.py` or `yaml.py` there is not taken for ours or a
library's. The current folder comes last then, and classes of one's own are still found in it.

No module is imported from a store, whatever the current folder is: its files may come from anybody.
"""

import os
import sys


def _set_current_folder_apart() -> str | None:
    """Takes the current folder from the front of where modules are looked for, unless this package lies in it.

    It needs no import that this folder could answer. Returns the folder.
    """
    try:
        current = os.path.realpath(os.getcwd())
    except OSError:
        return None  # it has been removed
    here = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
    if not sys.path or sys.flags.safe_path or os.path.realpath(sys.path[0]) != current or current == here:
        return None
    return sys.path.pop(0)


_CURRENT = _set_current_folder_apart()

# isort: split
import contextlib
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from plasticity_lab.named_code import VARIABLE, in_a_store, named, python_path
from plasticity_lab.stored_files import store_around

PACKAGES = ("plasticity_lab", "launch", "analysis")
HERE = Path(__file__).resolve().parents[2]


def current_folder_last() -> None:
    """Puts the current folder, if it was set apart, at the end of `sys.path`.

    This package's own folder comes before it: an editable install is found by other means, after all folders.
    """
    if _CURRENT is not None:
        sys.path += [*([] if str(HERE) in sys.path else [str(HERE)]), _CURRENT]


class NoCodeOfStores:
    """Finds modules as Python itself does, and refuses those that lie in a store.

    ModuleNotFoundError names the store. In `left_out` are the folders that would have been looked into.
    """

    left_out: Sequence[str] = ()

    @classmethod
    def watch(cls) -> None:
        """From now on no module is imported from a store; folders in one are taken from `sys.path`.

        Hydra runs the modules in folders of plugins itself, and another Python runs a `sitecustomize`.
        """
        cls.left_out = [folder for folder in sys.path if folder and store_around(folder) is not None]
        sys.path[:] = [folder for folder in sys.path if folder not in cls.left_out]
        if cls not in sys.meta_path:
            sys.meta_path.insert(sys.meta_path.index(PathFinder), cls)
            sys.meta_path.append(_LeftOut)

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        return _outside_of_stores(PathFinder.find_spec(name, path, target))


class _LeftOut:
    """Says of a module that was found nowhere else that it lies in a folder in a store."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        return None if path is not None else _outside_of_stores(PathFinder.find_spec(name, NoCodeOfStores.left_out))


def _outside_of_stores(spec: ModuleSpec | None) -> ModuleSpec | None:
    """The module's spec, if it is in no store.  Raises ModuleNotFoundError."""
    if spec is None:
        return None
    folders = list(spec.submodule_search_locations or ())
    places = [spec.origin] if spec.has_location and spec.origin else folders
    in_stores = {place: store for place in places if (store := store_around(place)) is not None}
    if not in_stores:
        return spec
    if not spec.has_location and len(in_stores) < len(folders):  # a namespace package: its other folders stay
        spec.submodule_search_locations = [folder for folder in folders if folder not in in_stores]
        return spec
    raise ModuleNotFoundError(in_a_store(*next(iter(in_stores.items()))), name=spec.name)


def for_children() -> dict[str, str]:
    """The variables by which another Python finds the same modules as this one, in the same order."""
    return {"PYTHONPATH": python_path(), "PYTHONSAFEPATH": "1", VARIABLE: os.pathsep.join(named())}


@contextlib.contextmanager
def importing_alike() -> Iterator[None]:
    """While this lasts, the environment has the variables of `for_children`, for children of other people's making."""
    ours = for_children()
    before = {name: os.environ[name] for name in ours if name in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]
        os.environ.update(before)


def hidden() -> str:
    """A sentence about files of the current folder that `python -m` would run instead of ours; empty without any."""
    folder = _current()
    if folder is None or sys.flags.safe_path or folder == HERE:
        return ""
    there = [name for name in PACKAGES if (folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists()]
    if not there:
        return ""
    names = " and ".join(f"`python -m {name}`" for name in there)
    ours = " and ".join(f"`python -P -m {name}`" for name in there)
    return f"In this folder {names} would run what lies here under that name, and not ours: {ours} runs ours."


def _current() -> Path | None:
    """The current folder; None where it has been removed."""
    try:
        return Path.cwd()
    except OSError:
        return None


current_folder_last()
NoCodeOfStores.watch()
