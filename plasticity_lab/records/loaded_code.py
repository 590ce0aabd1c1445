"""Code that a file loads in another way than by an import statement: by importlib, exec, runpy, or as a library.

The text does not show which file that is, so every code file counts that lies in its folder, or up to DEPTH
folders below it. Files and modules in other places count if a string in the file names them.
"""

import ast
import functools
import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path

SUFFIXES = (".py", ".so", ".c", ".cc", ".cpp", ".cu", ".h")
DEPTH = 2
_LOADERS = frozenset({"importlib", "imp", "runpy", "pkgutil", "ctypes", "cpp_extension", "load_library", "__import__"})
"""Modules and functions that load code, wherever their names occur."""
_BUILTIN = frozenset({"exec", "eval"})
"""The same, unless they are an attribute: model.eval() loads nothing."""
_OF_COMPONENTS = frozenset({"load", "load_as", "build"})
"""Functions of plasticity_lab.component that load a class by its name."""
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_OURS = ("plasticity_lab", "launch", "analysis")
_PRUNED = frozenset({"__pycache__", "site-packages", "dist-packages", "node_modules"})


def loads_otherwise(file: Path) -> bool:
    """Whether a file has code that loads other code in such a way."""
    return any(_loads(node) for node in ast.walk(_parsed(file)))


def code_around(file: Path) -> list[Path]:
    """The code files in the folder of a file and below it, and those that a string in it names, sorted."""
    folder = file.parent
    named = (Path(word) for word in _strings(file) if word.endswith(SUFFIXES) and "\0" not in word)
    elsewhere = [around / path for path in named for around in (folder, folder.parent)]
    found = {path.resolve() for path in (*_below(folder), *elsewhere) if path.is_file()}
    return sorted(found - {file})


def modules_named(file: Path) -> dict[str, Path]:
    """Module → file of the modules that a string in a file names. None of them is imported for that."""
    words = {word for word in _strings(file) if _MODULE.fullmatch(word) and word.partition(".")[0] not in _OURS}
    found = {word: _file_of(word) for word in sorted(words)}
    return {name: path.resolve() for name, path in found.items() if path is not None}


def _loads(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id in _LOADERS | _BUILTIN
    if isinstance(node, ast.Attribute):
        return node.attr in _LOADERS or (node.attr == "path" and getattr(node.value, "id", None) == "sys")
    if isinstance(node, ast.Import):
        return any(_LOADERS.intersection(alias.name.split(".")) for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        names = {alias.name for alias in node.names}
        of_components = node.module == "plasticity_lab.component" and bool(names & _OF_COMPONENTS)
        return of_components or bool(_LOADERS & {*(node.module or "").split("."), *names})
    return False


def _below(folder: Path) -> Iterator[Path]:
    """The code files of a folder, and of those below it that are neither hidden, nor ours, nor an environment."""
    for at, folders, files in os.walk(folder):
        here = Path(at)
        folders[:] = [name for name in folders if not (name.startswith(".") or name in _PRUNED)]
        if len(here.relative_to(folder).parts) >= DEPTH:
            folders.clear()
        ours = Path(__file__).parents[2] == here
        folders[:] = [name for name in folders if not (ours and name in _OURS) and not _is_environment(here / name)]
        yield from (here / name for name in files if name.endswith(SUFFIXES))


def _is_environment(folder: Path) -> bool:
    return (folder / "pyvenv.cfg").exists()


def _file_of(module: str) -> Path | None:
    """The file of a module; None if there is none, or if it is no source file."""
    root, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(root)
    except (ImportError, ValueError):  # ValueError: of __main__
        return None
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if spec.has_location and spec.origin else None
    places = [Path(place).joinpath(*rest) for place in spec.submodule_search_locations or ()]
    files = (file for place in places for file in (place.with_suffix(".py"), place / "__init__.py"))
    return next((file for file in files if file.is_file()), None)


def _strings(file: Path) -> Iterator[str]:
    for node in ast.walk(_parsed(file)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 256:
            yield node.value


@functools.cache
def _parsed(file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])
