"""A virtual environment that has a wheel of this tree, torch, numpy and their requirements, and nothing else."""

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def wheel(folder: Path) -> Path:
    """The wheel of this tree, built in a copy of it, in a folder."""
    copy = folder / "tree"
    for name in ("plasticity_lab", "launch", "analysis"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "measured"))
    for name in ("pyproject.toml", "build_backend.py", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, copy)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", str(copy)]
    subprocess.run([*command, "-w", str(folder)], check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def environment(folder: Path) -> Path:
    """The Python of a new environment in which torch and numpy are the only packages."""
    venv.create(folder, symlinks=True)
    python, inside = folder / "bin/python", folder / "packages"
    inside.mkdir()
    here = Path(sysconfig.get_path("purelib"))
    for name in required({"torch", "numpy"}):
        for top in {file.parts[0] for file in distribution(name).files or ()} - {"..", "__pycache__"}:
            (inside / top).symlink_to(here / top)
    site = folder / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    (site / "torch.pth").write_text(f"{inside}\n")
    return python


def install(python: Path, *words: str) -> None:
    """Installs into an environment, without the package index."""
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-compile"]
    subprocess.run([*command, *words], check=True, capture_output=True)


def required(names: set[str]) -> set[str]:
    """These packages, and all that they need here."""
    found, left = set[str](), [*names]
    while left:
        name = re.sub(r"[-_.]+", "-", left.pop()).lower()
        try:
            needs = [Requirement(line) for line in distribution(name).requires or ()]
        except PackageNotFoundError:
            continue
        if name not in found:
            found.add(name)
            left += [each.name for each in needs if each.marker is None or each.marker.evaluate({"extra": ""})]
    return found
