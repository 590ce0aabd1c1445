"""The folders of modules. `python -m` looks into the current folder first, and any file may be there.

Commands import this module first, so that a user's `analysis.py` or `yaml.py` there does not hide a module of ours or
of a library. The current folder then comes last, and a user's classes in it are still found.

No module is imported from a store, whatever the current folder is: its files may come from any source.
"""

import os
import sys


def _remove_current_folder() -> str | None:
    """Removes the current folder from the front of `sys.path`, unless this package is in it, and returns the folder.

    It needs no import that this folder could answer.
    """
    try:
        current = os.path.realpath(os.getcwd())
    except OSError:
        return None  # it has been removed
    here = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
    if not sys.path or sys.flags.safe_path or os.path.realpath(sys.path[0]) != current or current == here:
        return None
    return sys.path.pop(0)


_CURRENT = _remove_current_folder()

# isort: split
import contextlib
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from plasticity_lab.named_code import VARIABLE, in_a_store, named, python_path
from plasticity_lab.stored_files import store_around

HERE = Path(__file__).resolve().parents[2]


class NoCodeOfStores:
    """Finds modules as Python does, and refuses modules in a store with a ModuleNotFoundError that names the store.

    left_out: the folders in stores that were on `sys.path`.
    """

    left_out: Sequence[str] = ()

    @classmethod
    def watch(cls) -> None:
        """Installs the finder, and removes folders in a store from `sys.path`.

        Hydra runs modules of plugin folders itself, and a child Python runs a `sitecustomize`.
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
    """Refuses a module that only a folder in a store has, with a message that says so."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        return None if path is not None else _outside_of_stores(PathFinder.find_spec(name, NoCodeOfStores.left_out))


def _outside_of_stores(spec: ModuleSpec | None) -> ModuleSpec | None:
    """The module's spec, if it is in no store; otherwise raises ModuleNotFoundError."""
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
    """Environment variables that make a child Python find the same modules as this one, in the same order."""
    return {"PYTHONPATH": python_path(), "PYTHONSAFEPATH": "1", VARIABLE: os.pathsep.join(named())}


@contextlib.contextmanager
def importing_alike() -> Iterator[None]:
    """Within the `with` block, sets the variables of `for_children` for child processes that libraries start."""
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
    """A message about files of the current folder that `python -m` would run instead of ours; empty without any."""
    try:
        folder = Path.cwd()
    except OSError:
        return ""  # it has been removed
    if sys.flags.safe_path or folder == HERE:
        return ""
    packages = ("plasticity_lab", "launch", "analysis")
    names = [name for name in packages if (folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists()]
    if not names:
        return ""
    theirs = " and ".join(f"`python -m {name}`" for name in names)
    ours = " and ".join(f"`python -P -m {name}`" for name in names)
    return f"In this folder {theirs} would run the local file of that name, and not ours: {ours} runs ours."


if _CURRENT is not None:
    # This package's folder comes before it: an editable install is found by other means, after all folders.
    sys.path += [*([] if str(HERE) in sys.path else [str(HERE)]), _CURRENT]
NoCodeOfStores.watch()
