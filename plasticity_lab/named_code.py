"""Which classes from outside the package may be imported: not each that a store names, and none that lies in one.

A store can come from anybody, and its records and plans name classes. Such a class is imported if the words of the
command name it or its package, if it lies in a folder of PYTHONPATH, which says where one's own code is, or if it is
imported already. A class that lies in a store is never imported, whoever names it.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder

from plasticity_lab.errors import ConfigError
from plasticity_lab.stored_files import store_around

VARIABLE = "PLASTICITY_LAB_CODE"
"""By this variable a command passes on to its workers and jobs what its own words have named."""
PACKAGE = "plasticity_lab"


def name_class(target: str) -> None:
    """The command's words name this class: its module, and others of the same package, may be imported."""
    _NAMED.add(target.partition(".")[0])


def named_by_store(targets: Iterable[str]) -> None:
    """A record or a plan names these classes, which is no reason to import them."""
    _NAMED_BY_STORES.update(target for target in targets if isinstance(target, str))


def named() -> list[str]:
    """What may be imported, for `name_again`: names of packages, and absolute folders, sorted."""
    return sorted(_NAMED)


def name_again(known: Iterable[str]) -> None:
    """Adds what an earlier command of this user has named.  known: as `named` gives it."""
    _NAMED.update(known)


def refusal(target: str) -> str:
    """Why the class may not be imported, as a sentence without its end; empty where it may.

    To find that out, nothing is imported.
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
        "only a store names this class from outside the package, so nothing was imported. If it is yours, say where it "
        "lies: PYTHONPATH=FOLDER before the command, or its own options with --config-dir FOLDER, if the command has "
        "that"
    )


def in_a_store(place: str, store: str) -> str:
    """Why something is not used that lies in a store, as a sentence without its end."""
    return (
        f"{place} lies in the store {store}, and no code is imported from a store. If it is yours, move it to a folder "
        "outside of the store, which PYTHONPATH names"
    )


def check_options_folder(folder: str | os.PathLike[str]) -> None:
    """Raises ConfigError for a folder of options that lies in a store: their files name classes, and what Hydra calls.

    folder: as a command names it.
    """
    if (store := store_around(folder)) is not None:
        raise ConfigError(
            f"The folder {os.fspath(folder)} lies in the store {store}, and no options are read from a store. If they "
            "are yours, move them to a folder outside of the store."
        )


def python_path() -> str:
    """Where another Python is to look for modules: in the same folders as this one, without those in a store.

    There, Python itself would run a `sitecustomize` when it starts.
    """
    return os.pathsep.join(path for path in sys.path if path and store_around(path) is None)


def _places(module: str) -> Iterator[list[str]]:
    """Of a module and the packages around it, from the outermost on: its file, or the package's folders."""
    folders: list[str] | None = None
    for name in module.split("."):
        # By the last name alone: Python would look for the package around it among those that are imported.
        spec = PathFinder.find_spec(name, folders) if name else None
        if spec is None:
            return
        folders = list(spec.submodule_search_locations or ())
        yield folders or [spec.origin or ""]


def _of_this_process() -> set[str]:
    """What is named from the start: by the command that has started this process, else by PYTHONPATH."""
    passed_on = os.environ.get(VARIABLE)
    if passed_on is not None:
        return {name for name in passed_on.split(os.pathsep) if name}
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {os.path.realpath(folder) for folder in folders if folder}


_NAMED = _of_this_process()
_NAMED_BY_STORES: set[str] = set()
