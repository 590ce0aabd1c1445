"""Classes from outside the laboratory, and digests of their code.

The laboratory's classes have a `science_version` and a commit. A user's class has neither, and may be edited between
two commands.

A file may also load code without an import statement: by importlib, exec, runpy, or as a library. The text does not
show which file that is, so all code files count in its folder, or up to DEPTH folders below it. Files and modules in
other places count if a string in the file names them.
"""

import ast
import functools
import hashlib
import importlib.util
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from plasticity_lab.component import load
from plasticity_lab.records.provenance import CHECKOUT

_INSTALLED = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")}
_SITES = {"site-packages", "dist-packages"}
_OURS = ("plasticity_lab", "launch", "analysis")
_SKIPPED = {*sys.stdlib_module_names, *_OURS, "torch", "numpy"}
"""Roots of modules that are not followed: installed, or identified by the laboratory's digest and commit."""
SUFFIXES = (".py", ".so", ".c", ".cc", ".cpp", ".cu", ".h")
DEPTH = 2
_LOADERS = frozenset({"importlib", "imp", "runpy", "pkgutil", "ctypes", "cpp_extension", "load_library", "__import__"})
"""Modules and functions that load code; each occurrence of their names counts."""
_BUILTIN_LOADERS = frozenset({"exec", "eval"})
"""They load code unless they are an attribute: model.eval() loads none."""
_COMPONENT_LOADERS = frozenset({"load", "load_as", "build"})
"""Functions of plasticity_lab.component that load a class by its name."""
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_PRUNED = frozenset({"__pycache__", *_SITES, "node_modules"})


def digests_of_classes(targets: Mapping[str, str]) -> dict[str, str]:
    """Class → digest of its code, for classes from outside the laboratory.  targets: group → class.

    Raises ConfigError if a class cannot be imported.
    """
    digests = {target: digest_of_class(target) for target in targets.values()}
    return {target: digest for target, digest in digests.items() if digest is not None}


@functools.cache
def digest_of_class(target: str) -> str | None:
    """12 hex digits of the file of a class and of all modules that it imports; None for a class of the laboratory.

    If one of these files loads code without an import statement, "+" and 12 hex digits of the files that it may load.
    Installed modules (in site-packages), and data files that the code reads, are left out. Files are read once per
    process, since imported modules do not change. Raises ConfigError.
    """
    if target.partition(".")[0] == "plasticity_lab":
        return None  # a class of ours by its name: nothing is imported
    imported = _files({load(target).__module__, target.rpartition(".")[0]})
    loading = {name: file for name, file in imported.items() if any(map(_is_loader, _nodes(file)))}
    others = {f"{name}: {other}": path for name, file in loading.items() for other, path in _loadable(file, imported)}
    return f"{_digest(imported)}+{_digest(others)}" if loading else _digest(imported)


def same_code(before: str | None, now: str | None) -> bool:
    """Whether two digests of a class mean the same code, as far as both cover it.

    Digests of earlier versions have no "+": they did not cover code that is loaded without an import statement.
    """
    if before is None or now is None or ("+" in before and "+" in now):
        return before == now
    return before.partition("+")[0] == now.partition("+")[0]


def file_of_class(target: str) -> str:
    """The file of a class, for messages.  Raises ConfigError."""
    cls = load(target)
    return str(getattr(sys.modules.get(cls.__module__), "__file__", None) or cls.__module__)


def _digest(files: Mapping[str, Path]) -> str:
    words = [f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for name, path in sorted(files.items())]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]


def _files(first: Iterable[str]) -> dict[str, Path]:
    """Module → file of these modules and of all modules that they import; without installed ones."""
    files: dict[str, Path] = {}
    left = [*first]
    while left:
        name = left.pop()
        if name in files or (path := _file(name)) is None:
            continue
        if name in first or not _is_installed(path):
            files[name] = path
            left += _imported(name, path)
    return files


def _file(name: str) -> Path | None:
    """The file of a module; None if it has none, or does not exist."""
    try:
        module = sys.modules.get(name)
        origin = getattr(module, "__file__", None) if module is not None else None
        if origin is None and (spec := importlib.util.find_spec(name)) is not None and spec.has_location:
            origin = spec.origin
    except Exception:  # finding a module imports the packages around it, and a user's package can raise anything
        return None
    return Path(origin).resolve() if origin is not None and Path(origin).is_file() else None


def _is_installed(path: Path) -> bool:
    if _SITES.intersection(path.parts) or (CHECKOUT / "plasticity_lab") in path.parents:
        return True
    return any(folder in path.parents for folder in _INSTALLED)


def _imported(module: str, file: Path) -> Iterator[str]:
    """The modules that a file may import, also inside its functions, with the packages around them."""
    package = module if file.stem == "__init__" else module.rpartition(".")[0]
    for node in _nodes(file):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (base := _absolute(node, package)):
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            if parts[0] not in _SKIPPED:
                yield from (".".join(parts[: at + 1]) for at in range(len(parts)))


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """The module that `from ... import` names; empty if its dots lead out of the package."""
    try:
        relative = "." * node.level + (node.module or "")
        return importlib.util.resolve_name(relative, package) if node.level else (node.module or "")
    except ImportError:
        return ""


def _is_loader(node: ast.AST) -> bool:
    """Whether a node loads code without an import statement."""
    if isinstance(node, ast.Name):
        return node.id in _LOADERS | _BUILTIN_LOADERS
    if isinstance(node, ast.Attribute):
        return node.attr in _LOADERS or (node.attr == "path" and getattr(node.value, "id", None) == "sys")
    if isinstance(node, ast.Import):
        return any(_LOADERS.intersection(alias.name.split(".")) for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        names = {alias.name for alias in node.names}
        of_components = node.module == "plasticity_lab.component" and bool(names & _COMPONENT_LOADERS)
        return of_components or bool(_LOADERS & {*(node.module or "").split("."), *names})
    return False


def _loadable(file: Path, imported: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    """The code that a file may load without an import statement: name → file; without its imports."""
    folder, constants = file.parent, (node.value for node in _nodes(file) if isinstance(node, ast.Constant))
    strings = [value for value in constants if isinstance(value, str) and len(value) < 256]
    named = (Path(word) for word in strings if word.endswith(SUFFIXES) and "\0" not in word)
    elsewhere = [start / path for path in named for start in (folder, folder.parent)]
    code = sorted({path.resolve() for path in (*_below(folder), *elsewhere) if path.is_file()} - {file})
    around = {os.path.relpath(path, folder): path for path in code if not _is_installed(path)}
    words = sorted({word for word in strings if _MODULE.fullmatch(word) and word.partition(".")[0] not in _OURS})
    modules = [word for word in words if (path := _file_unimported(word)) and not _is_installed(path.resolve())]
    for name, path in {**around, **_files(modules)}.items():
        if path not in imported.values():
            yield name, path


def _below(folder: Path) -> Iterator[Path]:
    """The code files of a folder and of folders below it, without hidden folders, our packages and environments."""
    for at, folders, files in os.walk(folder):
        here = Path(at)
        folders[:] = [name for name in folders if not (name.startswith(".") or name in _PRUNED)]
        if len(here.relative_to(folder).parts) >= DEPTH:
            folders.clear()
        folders[:] = [
            name
            for name in folders
            if not (here == CHECKOUT and name in _OURS) and not (here / name / "pyvenv.cfg").exists()
        ]
        yield from (here / name for name in files if name.endswith(SUFFIXES))


def _file_unimported(module: str) -> Path | None:
    """The file of a module, found without importing a package; None without a source file."""
    root, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(root)
    except (ImportError, ValueError):  # ValueError for __main__
        return None
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if spec.has_location and spec.origin else None
    places = [Path(place).joinpath(*rest) for place in spec.submodule_search_locations or ()]
    files = (file for place in places for file in (place.with_suffix(".py"), place / "__init__.py"))
    return next((file for file in files if file.is_file()), None)


def _nodes(file: Path) -> Iterator[ast.AST]:
    """The nodes of a file's syntax tree; none if it cannot be parsed."""
    try:
        yield from ast.walk(ast.parse(file.read_bytes()))
    except (OSError, SyntaxError, ValueError):
        return
