"""The images of a campaign as one lossless file, for a machine without a network: MNIST and CIFAR-10."""

import importlib.util
import os
import tarfile
from pathlib import Path

from launch.wording import counted
from plasticity_lab.errors import ConfigError

FILE, FOLDER = "images.tar.xz", "images"
MOST_MB = 50
"""The largest file that travels."""
CIFAR10, CIFAR100 = "cifar-10-batches-bin", "cifar-100-binary"
PACKED = ("MNIST", CIFAR10)
"""The folders in the file. CIFAR-100 is larger than all that travels; entries with it need a folder with data."""


def pack(data: Path, folder: Path) -> Path:
    """Writes the file of a folder with image sets.  Raises ConfigError if it has none, or if the file is too large."""
    names = [name for name in PACKED if (data / name).is_dir()]
    if not names:
        raise ConfigError(
            f"{data} has none of {', '.join(PACKED)}; name another folder: PLASTICITY_DATA, or --pack-images DATA."
        )
    folder.mkdir(parents=True, exist_ok=True)
    new, path = folder / f"new.{FILE}", folder / FILE
    with tarfile.open(new, "w:xz") as file:
        for name in names:
            for one in sorted((data / name).rglob("*")):
                if not one.is_file() or (one.suffix == ".gz" and one.with_suffix("").exists()):
                    continue  # the unpacked file has the same numbers
                file.add(one, one.relative_to(data).as_posix(), recursive=False)
    size = new.stat().st_size / 1e6
    if size > MOST_MB:
        new.unlink()
        raise ConfigError(f"The images take {size:.0f} MB as one file; at most {MOST_MB} MB travel.")
    os.replace(new, path)
    return path


def unpacked(folder: Path) -> Path | None:
    """The folder with the images of a campaign, unpacked if they are not yet; None if it brought none."""
    path, to = folder / FILE, folder / FOLDER
    if not path.exists():
        return None
    if not to.exists():
        new = folder / f"new.{FOLDER}"
        with tarfile.open(path) as file:
            file.extractall(new, filter="data")
        os.replace(new, to)
    return to


def there(data: Path | None) -> set[str]:
    """Which of an entry's needs are met: image sets in a folder, and Atari's games."""
    found = {"ale"} if importlib.util.find_spec("ale_py") else set()
    if data is not None:
        found |= {"mnist"} if (data / "MNIST").is_dir() else set()
        found |= {"cifar10"} if (data / CIFAR10).is_dir() else set()
        found |= {"cifar100"} if (data / CIFAR100 / "train.bin").exists() else set()
    return found


def said(path: Path) -> str:
    """The file in words."""
    with tarfile.open(path) as file:
        return f"{path}: {counted(len(file.getnames()), 'file')}, {path.stat().st_size / 1e6:.1f} MB."
