"""A process that has trained nothing yet, with another PYTHONHASHSEED; it trains small packs again.

Numbers that depend on values of a module, on the order of a set or on hash("…") differ there. One such process imports
torch once and forks for each class, which costs a tenth of a new process.
"""

import atexit
import contextlib
import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from launch.own_classes.named import OwnClass
from launch.own_classes.packs import Event, Packs
from launch.own_classes.tiny import longer, tinies
from plasticity_lab.named_code import name_class
from plasticity_lab.process.import_path import for_children
from plasticity_lab.run import Run


class NotTried(Exception):
    """The fresh process has not answered."""


def begin() -> None:
    """Starts the process; it imports torch, in some seconds, while this one continues."""
    with contextlib.suppress(OSError):
        _process()


def trained_afresh(own: OwnClass, folder: Path, size: int, places: Sequence[int], after: bool) -> list[list[Event]]:
    """The events of small runs, each trained alone, in a fresh process; digests replace the bits.

    folder: contains the data sets. size: the pack's position among `tinies`. places: the runs' positions, in the
    sequence of training. after: whether a pack of other runs with another length is trained first. Raises NotTried if
    the process does not answer; RuntimeError with the error of the class.
    """
    asked = {
        "group": own.group,
        "run": own.run.as_json(),
        "folder": str(folder),
        "size": size,
        "places": list(places),
        "after": after,
        "path": sys.path,
        "current": os.getcwd(),
    }
    with tempfile.TemporaryDirectory() as kept:
        result = Path(kept) / "events.json"
        try:
            process = _process()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps({**asked, "result": str(result)}) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError as error:
            _process.cache_clear()
            raise NotTried(str(error)) from error
        if not result.exists():
            if not answer:
                _process.cache_clear()  # the next class gets a new one
            raise NotTried(f"it ended with status {answer.strip() or 'unknown'}")
        trained = json.loads(result.read_text())
    if "error" in trained:
        raise RuntimeError(trained["error"])
    return [[Event(when, name, digest.encode()) for when, name, digest in events] for events in trained["events"]]


def digested(events: Sequence[Event]) -> list[Event]:
    """The events as `trained_afresh` gives them."""
    return [Event(event.when, event.name, hashlib.sha256(event.bits).hexdigest().encode()) for event in events]


@functools.cache
def _process() -> subprocess.Popen[str]:
    """The process that forks for each class; it ends with this one."""
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    process = subprocess.Popen(
        [sys.executable, "-m", "launch.own_classes.fresh"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | for_children() | {"PYTHONHASHSEED": seed},
        text=True,
    )
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        process.communicate()


def main() -> None:
    """Answers each line with the status of a process that has done the task in it."""
    import torch
    import torch._dynamo  # the first gradient imports it, in a second

    torch.set_num_threads(1)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _answer(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _answer(asked: Mapping[str, Any]) -> None:
    """Does the task, and ends the process."""
    with open(os.devnull) as nothing:  # the class may read and print; the process's input and output are not for it
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    try:
        sys.path[:] = asked["path"]
        os.chdir(asked["current"])
        result: dict[str, Any] = {"events": _trained(asked)}
    except Exception as error:  # an own class can raise anything
        result = {"error": f"{type(error).__name__}: {error}"}
    file = Path(asked["result"])
    file.with_suffix(".part").write_text(json.dumps(result))
    file.with_suffix(".part").rename(file)
    os._exit(0)


def _trained(asked: Mapping[str, Any]) -> list[list[tuple[str, str, str]]]:
    run = Run.from_json(asked["run"])
    for target in run.targets.values():
        name_class(target)  # the asking process has already imported it
    own = OwnClass(asked["group"], run)
    tiny = next(islice(tinies(own, Path(asked["folder"])), asked["size"], None))
    if asked["after"]:
        with contextlib.suppress(Exception):  # its numbers are not needed; the class may be unable to have that length
            Packs(own, longer(tiny)).pack([0, 1])
    packs = Packs(own, tiny)
    alone = [digested(packs.pack([place])[0]) for place in asked["places"]]
    return [[(event.when, event.name, event.bits.decode()) for event in events] for events in alone]


if __name__ == "__main__":
    main()
