"""The files of `launch` that run in a worker's process: its entries and all that they import, found in their text.

A command must find the same files as a worker, although it has imported others. So the lines are read, not the modules
that happen to be there: 60 files in 7 ms.
"""

import re
from collections.abc import Iterator
from pathlib import Path

ENTRIES = ("launch.work.worker", "launch.launchers.slurm.job")
"""The first modules of a worker's process, on this machine and in a job of Slurm."""
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(launch(?:\.\w+)*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+(launch(?:\.\w+)*))",
    re.MULTILINE,
)
"""Also inside functions. The linter allows no relative imports, and one module after `import`."""
_COMMENT = re.compile(r"#[^\n]*")


def files_of_worker(checkout: Path) -> list[Path]:
    """The files of the entries, of the modules that they import, and of the packages around these, sorted."""
    found: dict[str, Path] = {}
    left = [*ENTRIES]
    while left:
        name = left.pop()
        if name in found or (path := _file(checkout, name)) is None:
            continue
        found[name] = path
        left += [name.rpartition(".")[0], *_imported(path)]
    return sorted(found.values())


def _file(checkout: Path, name: str) -> Path | None:
    """The file of a module; None for a name that is no module, for example a function's."""
    if not name:
        return None
    path = checkout.joinpath(*name.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def _imported(path: Path) -> Iterator[str]:
    """The names that a file imports from launch; some are functions and classes."""
    try:
        text = _COMMENT.sub("", path.read_text(encoding="utf-8"))
    except OSError:
        return
    for source, members, alone in _IMPORT.findall(text):
        yield source or alone
        yield from (f"{source}.{member}" for member in re.findall(r"\w+", members))
