"""Decides which classes from outside the package may be imported.

A store can come from an unknown person, and its records and plans name classes. Such a class is imported only in three
cases: the words of the command name it or its package; it is in a folder of PYTHONPATH (the folders of a user's code);
or it is already imported. A class in a store is never imported, even if it is named.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder

from plasticity_lab.errors import ConfigError
from plasticity_lab.stored_files import store_around

VARIABLE = "PLASTICITY_LAB_CODE"
"""A command passes the packages and folders that its words have named to its workers and jobs in this variable."""
PACKAGE = "plasticity_lab"


def name_class(target: str) -> None:
    """Records that the command's words name this class: all modules of its package may be imported."""
    _NAMED.add(target.partition(".")[0])


def named_by_store(targets: Iterable[str]) -> None:
    """Records that a record or a plan names these classes, which does not allow their import."""
    _NAMED_BY_STORES.update(target for target in targets if isinstance(target, str))


def named() -> list[str]:
    """The packages and absolute folders that may be imported, sorted, for `name_again`."""
    return sorted(_NAMED)


def name_again(known: Iterable[str]) -> None:
    """Adds the packages and folders of an earlier command of this user.  known: as `named` returns them."""
    _NAMED.update(known)


def refusal(target: str) -> str:
    """The reason why the class may not be imported, as a sentence without its period; empty if it may be imported.

    The check imports nothing.
    """
    package, module = target.partition(".")[0], target.rpartition(".")[0]
    if package == PACKAGE or module in sys.modules:
        return ""
    levels = list(_places(module))
    for place in (place for level in levels for place in level):
        if (store := store_around(place)) is not None:
            return in_a_store(place, store)
    if target not in _NAMED_BY_STORES or package in _NAMED:
        return ""
    if levels and all(os.path.realpath(os.path.dirname(place)) in _NAMED for place in levels[0]):
        return ""
    return (
        "only a store names this class from outside the package, so nothing was imported. If it is yours, name its "
        "folder: PYTHONPATH=FOLDER before the command, or its own options with --config-dir FOLDER, if the command has "
        "that"
    )


def in_a_store(place: str, store: str) -> str:
    """The reason why a file in a store is not used, as a sentence without its period."""
    return (
        f"{place} lies in the store {store}, and no code is imported from a store. If it is yours, move it to a folder "
        "outside of the store, which PYTHONPATH names"
    )


def check_options_folder(folder: str | os.PathLike[str]) -> None:
    """Raises ConfigError for a folder of options in a store: its files name classes, and functions that Hydra calls.

    folder: as a command names it.
    """
    if (store := store_around(folder)) is not None:
        raise ConfigError(
            f"The folder {os.fspath(folder)} lies in the store {store}, and no options are read from a store. If they "
            "are yours, move them to a folder outside of the store."
        )


def python_path() -> str:
    """The module search path for another Python process: the folders of this process, without folders in a store.

    In such a folder Python would run a `sitecustomize` module when it starts.
    """
    return os.pathsep.join(path for path in sys.path if path and store_around(path) is None)


def _places(module: str) -> Iterator[list[str]]:
    """The places of a module and the packages around it, from the outermost on: its file, or the package's folders."""
    folders: list[str] | None = None
    for name in module.split("."):
        # Only by the last name: with a full name, Python would search among imported packages.
        spec = PathFinder.find_spec(name, folders) if name else None
        if spec is None:
            return
        folders = list(spec.submodule_search_locations or ())
        yield folders or [spec.origin or ""]


def _of_this_process() -> set[str]:
    """The packages and folders named from the start: by the command that has started this process, or by PYTHONPATH."""
    passed_on = os.environ.get(VARIABLE)
    if passed_on is not None:
        return {name for name in passed_on.split(os.pathsep) if name}
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {os.path.realpath(folder) for folder in folders if folder}


_NAMED = _of_this_process()
_NAMED_BY_STORES: set[str] = set()
