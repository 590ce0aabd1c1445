"""Which folders modules come from: `python -m` looks into the current folder first, where anything may lie.

Commands import this before all else, so that somebody's own `analysis.py` or `yaml.py` there is not taken for ours or a
library's. The current folder comes last then, and classes of one's own are still found in it.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("plasticity_lab", "launch", "analysis")
HERE = Path(__file__).resolve().parents[1]


def current_folder_last() -> None:
    """Moves the current folder to the end of where modules are looked for, unless this very package lies in it.

    This package's own folder comes before it: an editable install is found by other means, after all folders.
    """
    if _looks_here_first():
        current = sys.path.pop(0)
        sys.path += [*([] if str(HERE) in sys.path else [str(HERE)]), current]


def for_children() -> dict[str, str]:
    """The variables by which another Python finds the same modules as this one, in the same order."""
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONSAFEPATH": "1"}


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


def _looks_here_first() -> bool:
    first, folder = (sys.path[0] if sys.path and not sys.flags.safe_path else None), _current()
    return first is not None and folder is not None and Path(first).resolve() == folder != HERE


def _current() -> Path | None:
    """The current folder; None where it has been removed."""
    try:
        return Path.cwd()
    except OSError:
        return None


current_folder_last()
