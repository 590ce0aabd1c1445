"""Compiles the kernels on the machine that uses them, part by part and each once, and loads them."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from functools import cache
from pathlib import Path
from typing import IO

import torch

from plasticity_lab.errors import PlasticityError
from plasticity_lab.waits import waiting

HERE = Path(__file__).parent
FLAGS = {
    "AVX512": ("-mavx512f", "-mavx2", "-mfma", "-mtune=native"),
    "AVX2": ("-mavx2", "-mfma", "-mtune=native"),
}
"""Compiler flags by torch's name for the processor's capability. The numbers are the same; see the source."""
LOOK_SECONDS = 0.25
"""Interval in seconds between checks whether another process compiles the part that this one waits for."""
OWN = "plasticity_lab"
"""In torch's folder for compiled code, the folder of this package's code."""
COMMON = ("-std=c++20", "-O3", "-fno-math-errno", "-ffp-contract=off", "-shared", "-fPIC")

_compiled_by_others: set[str] = set()
_expected: list[str] = []


class KernelsMissing(PlasticityError):
    """The kernels cannot be compiled here."""


def missing() -> str | None:
    """The reason that this machine has no kernels, in a sentence; None if they can be compiled."""
    if torch.backends.cpu.get_cpu_capability() not in FLAGS:
        return "the processor has no AVX2"
    return None if compiler() else "there is no C++ compiler"


def compiler() -> str | None:
    """The C++ compiler that torch.compile takes too."""
    return next(filter(None, map(shutil.which, (os.environ.get("CXX", "g++"), "g++", "clang++"))), None)


def expect(parts: Iterable[str], at_once: bool = True) -> None:
    """Begins to compile the parts that have no library yet, one process for each core.

    Returns at once; `load` waits for them.  Raises KernelsMissing if none can be compiled.
    at_once: if false, they begin with the next graph, or with the first of them that is loaded. An update that is never
        called then compiles nothing.
    """
    _check()
    if not at_once:
        _expected.extend(parts)
        return
    for part in parts:
        _begun(part)


def begin_expected() -> None:
    """Begins to compile all expected parts."""
    while _expected:
        _begun(_expected.pop(0))


@cache
def load(part: str) -> None:
    """Gives torch the operators of a part, compiled first if its library is missing.  Raises KernelsMissing."""
    _check()
    if part in _expected:
        begin_expected()
    with waiting("compiling", f"kernels ({part})") as wait:
        begun = _begun(part)
        while wait_for([begun], LOOK_SECONDS).not_done:
            if part in _compiled_by_others:
                wait.doing, wait.of = "waiting", f"for another process to compile kernels ({part})"
            else:
                wait.doing, wait.of = "compiling", f"kernels ({part})"
        library = begun.result()
    try:
        torch.ops.load_library(str(library))
    except OSError as error:
        raise KernelsMissing(
            f"The kernels in {library} cannot be run: {error.__cause__ or error}; on a disk that is mounted noexec no "
            "code can be. XDG_CACHE_HOME=FOLDER names another place for compiled code."
        ) from error


def _check() -> None:
    why = missing()
    if why is not None:
        raise KernelsMissing(f"The kernels of mode=kernels cannot be compiled here: {why}; say mode=auto.")


@cache
def _begun(part: str) -> "Future[Path]":
    """The library of a part, which is compiled already or is being compiled."""
    library = library_of(part, folder())
    if library.exists():
        found: Future[Path] = Future()
        found.set_result(library)
        return found
    return _compilers().submit(_compiled, part, library, _flags())


def library_of(part: str, among: Path) -> Path:
    """The place of a part's library in a folder like `folder()`.  Its name changes with all that it is made from."""
    written = b"".join(path.read_bytes() for path in [HERE / f"{part}.cpp", *sorted(HERE.glob("*.h"))])
    known = written + repr((_flags(), torch.__version__, compiler())).encode()
    return among / f"{part}-{hashlib.sha256(known).hexdigest()[:16]}.so"


def _flags() -> tuple[str, ...]:
    return (*COMMON, *FLAGS[torch.backends.cpu.get_cpu_capability()])


@cache
def _compilers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)), thread_name_prefix="compiling kernels")


def folder() -> Path:
    """The folder of compiled code: torch's own folder for it, which also holds the graphs."""
    configured = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if configured:
        return Path(configured) / OWN
    return Path(tempfile.gettempdir()) / f"plasticity_lab_{os.getuid()}"


def _compiled(part: str, library: Path, flags: tuple[str, ...]) -> Path:
    """Compiles a part; if another process compiles it already, waits for that.  Raises KernelsMissing."""
    library.parent.mkdir(parents=True, exist_ok=True)
    with library.with_suffix(".lock").open("w") as lock:
        with contextlib.suppress(OSError):  # a file system without locks: then both compile it
            _lock(lock, part)
        if not library.exists():
            _compile(part, library, flags)
    return library


def _lock(lock: IO[str], part: str) -> None:
    """Waits for the lock of a part, which a process holds while it compiles it.  Raises OSError."""
    try:
        return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _compiled_by_others.add(part)
    try:
        return fcntl.flock(lock, fcntl.LOCK_EX)
    finally:
        _compiled_by_others.discard(part)


def _compile(part: str, library: Path, flags: tuple[str, ...]) -> None:
    home = Path(torch.__file__).parent
    with tempfile.TemporaryDirectory(dir=library.parent) as own:  # a compiler that is stopped leaves half a file
        made = Path(own) / library.name
        places = (
            f"-I{home / 'include'}",
            str(HERE / f"{part}.cpp"),
            "-o",
            str(made),
            f"-L{home / 'lib'}",
            "-ltorch_cpu",
        )
        done = subprocess.run([compiler(), *flags, *places], capture_output=True, text=True)
        if done.returncode:
            raise KernelsMissing(f"The kernels cannot be compiled here; the compiler says: {done.stderr.strip()[:500]}")
        os.replace(made, library)
