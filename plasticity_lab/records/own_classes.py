"""Classes from outside the laboratory: a digest of the code that a choice of one's own consists of.

The laboratory's own classes have `science_version` and the commit; a class of somebody's own has neither, and can be
edited between two commands without a word.
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
_PASSED_OVER = {*sys.stdlib_module_names, "plasticity_lab", "launch", "analysis", "torch", "numpy"}
"""Roots of modules that need not be looked for: installed, or identified by the laboratory's own digest and commit."""


def digests_of_classes(targets: Mapping[str, str]) -> dict[str, str]:
    """Class → digest of its code, of those classes that do not belong to the laboratory.  targets: group → class.

    Raises ConfigError where a class cannot be imported.
    """
    found = {target: digest_of_class(target) for target in targets.values()}
    return {target: digest for target, digest in found.items() if digest is not None}


@functools.cache
def digest_of_class(target: str) -> str | None:
    """12 hex digits of the file of a class and of the modules that it imports, anywhere in it; None for one of ours.

    If one of these files loads code in another way than by an import, "+" and 12 hex digits of the files that this may
    be (see `loaded_code`). Installed modules (in site-packages) are left out, and so are data that the code reads.
    The files are read once a process: what it has imported does not change. Raises ConfigError.
    """
    if target.partition(".")[0] == "plasticity_lab":
        return None  # a class of ours by its name: nothing is imported
    names = {load(target).__module__, target.rpartition(".")[0]}
    imported = _files(names)
    others = {f"{name}: {other}": path for name, file in imported.items() for other, path in _loaded(file, imported)}
    loads = any(map(loads_otherwise, imported.values()))
    return f"{_digest(imported)}+{_digest(others)}" if loads else _digest(imported)


def same_code(before: str | None, now: str | None) -> bool:
    """Whether two digests of a class are of the same code, as far as both of them know it.

    Earlier versions did not look for code that is loaded in another way than by an import: their digests have no "+".
    """
    if before is None or now is None or ("+" in before and "+" in now):
        return before == now
    return before.partition("+")[0] == now.partition("+")[0]


def _digest(files: Mapping[str, Path]) -> str:
    words = [f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for name, path in sorted(files.items())]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]


def _loaded(file: Path, imported: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    """The code that a file may load in another way than by an import, apart from its imports: name → file."""
    if not loads_otherwise(file):
        return
    named = [name for name, path in modules_named(file).items() if not _is_installed(path)]
    around = {os.path.relpath(path, file.parent): path for path in code_around(file) if not _is_installed(path)}
    for name, path in {**around, **_files(named)}.items():
        if path not in imported.values():
            yield name, path


def file_of_class(target: str) -> str:
    """Where the class lies, for messages.  Raises ConfigError."""
    cls = load(target)
    return str(getattr(sys.modules.get(cls.__module__), "__file__", None) or cls.__module__)


def _files(first: Iterable[str]) -> dict[str, Path]:
    """Module → file of these modules, and of all that they import, from outside of installed packages."""
    found: dict[str, Path] = {}
    left = [*first]
    while left:
        name = left.pop()
        if name in found or (path := _file(name)) is None:
            continue
        found[name] = path
        if name in first or not _is_installed(path):
            left += _imported(name, path)
    return {name: path for name, path in found.items() if name in first or not _is_installed(path)}


def _file(name: str) -> Path | None:
    """The file of a module; None where it has none, or is not there."""
    try:
        module = sys.modules.get(name)
        origin = getattr(module, "__file__", None) if module is not None else None
        if origin is None and (spec := importlib.util.find_spec(name)) is not None and spec.has_location:
            origin = spec.origin
    except Exception:  # finding a module imports the packages around it, and somebody's own can raise anything
        return None
    return Path(origin).resolve() if origin is not None and Path(origin).is_file() else None


def _is_installed(path: Path) -> bool:
    if _SITES.intersection(path.parts) or (CHECKOUT / "plasticity_lab") in path.parents:
        return True
    return any(folder in path.parents for folder in _INSTALLED)


def _imported(module: str, file: Path) -> Iterator[str]:
    """The names of modules that a file may import, the packages around them too, also inside its functions."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    package = module if file.stem == "__init__" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)] if base else []
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] not in _PASSED_OVER:
                yield from (".".join(parts[: at + 1]) for at in range(len(parts)))


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """The module that `from ... import` names; nothing where its dots lead out of the package."""
    try:
        relative = "." * node.level + (node.module or "")
        return importlib.util.resolve_name(relative, package) if node.level else (node.module or "")
    except ImportError:
        return ""


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
