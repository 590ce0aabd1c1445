"""Compiling on this machine: whether it works, and the folder of compiled code.

If nothing can be compiled, runs train eagerly.  `launch.bench` imports this without Hydra or pydantic.
"""

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
"""The environment variable that names torch's folder for compiled code."""
TRIAL = '#include <cmath>\nextern "C" double trial(double x) { return std::exp(x); }\n'
TRIAL_SECONDS = 60


@dataclass(frozen=True)
class NotCompiled:
    """The reason why nothing can be compiled here.

    why: the reason in a few words, for a plan's table. sentence: the reason as part of a sentence, with a way out.
    """

    why: str
    sentence: str


NO_COMPILER = NotCompiled("no C++ compiler", "there is no C++ compiler here; g++ would do")


def compiled_folder() -> Path:
    """The folder of compiled code for later processes: torch's setting, or a folder in the user's cache.

    Each processor model has a folder: nodes that share a home directory must not share machine code.
    """
    processor = re.sub(r"\W+", "-", cpu_model()).strip("-").lower()
    return Path(os.environ.get(FOLDER) or cache_folder() / "plasticity_lab" / "compiled" / processor)


def workers_folder() -> Path:
    """The worker's folder for compiled code: a subfolder of `compiled_folder` for the vector instructions of torch.

    torch's cache ignores this capability. It gave an AVX2 process the summing order of AVX-512.
    """
    import torch

    folder, capability = compiled_folder(), torch.backends.cpu.get_cpu_capability().lower()
    return folder if folder.name == capability else folder / capability  # a worker's child process inherits the folder


def not_compiled_here() -> NotCompiled | None:
    """The reason why nothing can be compiled here; None if a trial compiles and loads."""
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CXX", "g++"), "g++", "clang++"))), None)
    return NO_COMPILER if compiler is None else _tried(compiler, compiled_folder())


@cache
def _tried(compiler: str, folder: Path) -> NotCompiled | None:
    way_out = f"{FOLDER if os.environ.get(FOLDER) else 'XDG_CACHE_HOME'}=FOLDER names another place"
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        with tempfile.TemporaryDirectory(dir=existing, prefix=".trial-") as trial:
            source, library = Path(trial, "trial.cpp"), Path(trial, "trial.so")
            source.write_text(TRIAL, encoding="utf-8")
            if why := _compiler_error([compiler, "-shared", "-fPIC", str(source), "-o", str(library)]):
                return NotCompiled("the C++ compiler fails", f"{compiler} compiles nothing here ({why})")
            try:
                ctypes.CDLL(str(library))
            except OSError:
                words = f"code that is compiled into {folder} may not be run there, as on a disk mounted noexec"
                return NotCompiled("no code runs in the cache", f"{words}; {way_out}")
    except OSError as error:
        words = f"compiled code cannot be kept in {folder} ({error.strerror})"
        return NotCompiled("the cache cannot be written", f"{words}; {way_out}")
    return None


def _compiler_error(command: list[str]) -> str:
    """The message of a compiler that fails; empty if the compiler works."""
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=TRIAL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = done.stderr.strip().splitlines()
    return (lines[-1][:200] if lines else f"status {done.returncode}") if done.returncode else ""
