"""The control groups of this process: they limit the cores and the memory of containers and cluster jobs."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

ROOT, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
LONGEST_LIMIT = 2**60
"""A limit of this many bytes or more means no limit: version 1 writes the largest number of pages."""


def folders(controller: str, root: Path = ROOT, own: Path = OWN) -> Iterator[Path]:
    """The folders of this process's group, then of its parent groups, for one controller ("cpu", "memory").

    root: the folder that holds the mounted trees. own: the file that names the process's groups. Version 2 has one tree
    and no names. Version 1 has one tree for each controller, or for several controllers together. In a container the
    path may be the machine's, while the group is the root of the tree. So the root always comes last.
    """
    try:
        lines = [line.split(":", 2) for line in own.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return
    for _, names, path in (line for line in lines if len(line) == 3):
        if names and controller not in names.split(","):
            continue
        for tree in [root / names, root / controller] if names else [root, root / "unified"]:
            inner = tree / path.lstrip("/")
            yield inner
            yield from (folder for folder in inner.parents if folder.is_relative_to(tree))


def cpu_quota(root: Path = ROOT, own: Path = OWN) -> float | None:
    """The CPU time that this process's groups may use, in cores; None without a limit.  Arguments: see `folders`."""
    quotas = []
    for folder in folders("cpu", root, own):
        with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
            if (folder / "cpu.max").exists():
                given, period = (folder / "cpu.max").read_text(encoding="utf-8").split()
            else:
                given, period = _line(folder / "cpu.cfs_quota_us"), _line(folder / "cpu.cfs_period_us")
            if given != "max" and int(given) > 0:
                quotas.append(int(given) / int(period))
    return min(quotas, default=None)


def memory_limit(root: Path = ROOT, own: Path = OWN) -> int | None:
    """Bytes that this process's groups may use in total; None without a limit.  Arguments: see `folders`."""
    limits = []
    for folder in folders("memory", root, own):
        for name in ("memory.max", "memory.high", "memory.limit_in_bytes"):
            with contextlib.suppress(OSError, ValueError):  # "max" is no number
                limits.append(int(_line(folder / name)))
        with contextlib.suppress(OSError, ValueError, KeyError):  # version 1 reports limits of hidden parents too
            lines = dict(line.split() for line in _line(folder / "memory.stat").splitlines())
            limits.append(int(lines["hierarchical_memory_limit"]))
    return min((limit for limit in limits if limit < LONGEST_LIMIT), default=None)


def _line(file: Path) -> str:
    return file.read_text(encoding="utf-8").strip()
