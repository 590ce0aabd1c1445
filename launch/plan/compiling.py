"""Whether code can be compiled and run on this machine, and where it is kept: where it cannot, runs train eagerly."""

import ctypes
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from plasticity_lab.process.account import cache_folder
from plasticity_lab.records.provenance import cpu_model

FOLDER = "TORCHINDUCTOR_CACHE_DIR"
"""The environment variable by which torch is told where to keep what it compiles."""
TRIAL = '#include <cmath>\nextern "C" double trial(double x) { return std::exp(x); }\n'
TRIAL_SECONDS = 60


@dataclass(frozen=True)
class NotCompiled:
    """Why nothing can be compiled here.

    why: in a few words, for a plan's table. sentence: in the middle of a sentence, with a way out.
    """

    why: str
    sentence: str


NO_COMPILER = NotCompiled("no C++ compiler", "there is no C++ compiler here; g++ would do")


def compiled_folder() -> Path:
    """Where compiled code is kept, for the next process to find: where torch is set to, or in the user's cache.

    A folder for each kind of processor: nodes that share a home must not share machine code.
    """
    processor = re.sub(r"\W+", "-", cpu_model()).strip("-").lower()
    return Path(os.environ.get(FOLDER) or cache_folder() / "plasticity_lab" / "compiled" / processor)


def workers_folder() -> Path:
    """The worker's folder for compiled code: in `compiled_folder`, one for each of torch's vector capabilities.

    torch's cache ignores the capability. It gave an AVX2 process the summing order of AVX-512.
    """
    import torch

    folder, capability = compiled_folder(), torch.backends.cpu.get_cpu_capability().lower()
    return folder if folder.name == capability else folder / capability  # a process that a worker starts gets it


def not_compiled_here() -> NotCompiled | None:
    """Why nothing can be compiled here, found out by compiling and running a line; None where it works."""
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CXX", "g++"), "g++", "clang++"))), None)
    return NO_COMPILER if compiler is None else _tried(compiler, compiled_folder())


@cache
def _tried(compiler: str, folder: Path) -> NotCompiled | None:
    variable = FOLDER if os.environ.get(FOLDER) else "XDG_CACHE_HOME"
    place = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        with tempfile.TemporaryDirectory(dir=place, prefix=".trial-") as own:
            source, library = Path(own, "trial.cpp"), Path(own, "trial.so")
            source.write_text(TRIAL, encoding="utf-8")
            if why := _refused([compiler, "-shared", "-fPIC", str(source), "-o", str(library)]):
                return NotCompiled("the C++ compiler fails", f"{compiler} compiles nothing here ({why})")
            if not _runs(library):
                words = f"code that is compiled into {folder} may not be run there, as on a disk mounted noexec"
                return NotCompiled("no code runs in the cache", f"{words}; {variable}=FOLDER names another place")
    except OSError as error:
        words = f"compiled code cannot be kept in {folder} ({error.strerror})"
        return NotCompiled("the cache cannot be written", f"{words}; {variable}=FOLDER names another place")
    return None


def _refused(command: list[str]) -> str:
    """What a compiler says that fails; nothing where it works."""
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=TRIAL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = done.stderr.strip().splitlines()
    return (said[-1][:200] if said else f"status {done.returncode}") if done.returncode else ""


def _runs(library: Path) -> bool:
    try:
        ctypes.CDLL(str(library))
    except OSError:
        return False
    return True
