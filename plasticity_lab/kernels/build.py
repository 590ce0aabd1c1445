"""Compiles the kernels on the machine that uses them, once, and loads them."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import torch

from plasticity_lab.errors import PlasticityError

HERE = Path(__file__).parent
SOURCE = HERE / "kernels.cpp"
FLAGS = {
    "AVX512": ("-mavx512f", "-mavx2", "-mfma", "-mtune=native"),
    "AVX2": ("-mavx2", "-mfma", "-mtune=native"),
}
"""By what torch says that the processor can do. The numbers are the same; see the source."""
COMMON = ("-std=c++20", "-O3", "-fno-math-errno", "-ffp-contract=off", "-shared", "-fPIC")


class KernelsMissing(PlasticityError):
    """The kernels cannot be compiled here."""


def missing() -> str | None:
    """Why this machine has no kernels, in a sentence; None where they can be compiled."""
    if torch.backends.cpu.get_cpu_capability() not in FLAGS:
        return "the processor has no AVX2"
    return None if compiler() else "there is no C++ compiler"


def compiler() -> str | None:
    """The C++ compiler that torch.compile takes too."""
    return next(filter(None, map(shutil.which, (os.environ.get("CXX", "g++"), "g++", "clang++"))), None)


@cache
def load() -> None:
    """Makes torch.ops.plasticity_lab known in this process.  Raises KernelsMissing."""
    why = missing()
    if why is not None:
        raise KernelsMissing(f"The kernels of mode=kernels cannot be compiled here: {why}; say mode=auto.")
    flags = (*COMMON, *FLAGS[torch.backends.cpu.get_cpu_capability()])
    written = b"".join(path.read_bytes() for path in sorted([*HERE.glob("*.cpp"), *HERE.glob("*.h")]))
    known = written + repr((flags, torch.__version__, compiler())).encode()
    library = folder() / f"kernels-{hashlib.sha256(known).hexdigest()[:16]}.so"
    if not library.exists():
        _compile(library, flags)
    try:
        torch.ops.load_library(str(library))
    except OSError as error:
        raise KernelsMissing(
            f"The kernels in {library} cannot be run: {error.__cause__ or error}; on a disk that is mounted noexec no "
            "code can be. XDG_CACHE_HOME=FOLDER names another place for compiled code."
        ) from error


def is_loaded() -> bool:
    """Whether this process has them."""
    return load.cache_info().currsize > 0


def folder() -> Path:
    """Where compiled code is kept: torch's own folder for it, in which the graphs lie too."""
    configured = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    return (
        Path(configured) / "plasticity_lab"
        if configured
        else Path(tempfile.gettempdir()) / f"plasticity_lab_{os.getuid()}"
    )


def _compile(library: Path, flags: tuple[str, ...]) -> None:
    home = Path(torch.__file__).parent
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as own:  # others may compile it at this moment too
        made = Path(own) / library.name
        places = (
            f"-I{home / 'include'}",
            str(SOURCE),
            "-o",
            str(made),
            f"-L{home / 'lib'}",
            "-ltorch_cpu",
            "-lc10",
        )
        done = subprocess.run([compiler(), *flags, *places], capture_output=True, text=True)
        if done.returncode:
            raise KernelsMissing(f"The kernels cannot be compiled here; the compiler says: {done.stderr.strip()[:500]}")
        os.replace(made, library)
