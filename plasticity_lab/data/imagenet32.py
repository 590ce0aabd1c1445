"""ImageNet at 32 × 32 pixels, prepared once from a copy of ImageNet, then memory-mapped.

Two layouts are known, in the folder `imagenet32` of the folder of data sets:

    classes/0.npy, 1.npy, …     a file per class, (N, 3, 32, 32) or (N, 32, 32, 3), as in the loss-of-plasticity code
    train/<class>/…             ImageNet's training images in any size, a folder per class

`fetch` makes train_images.npy, test_images.npy and contents.json from either, in the same folder; `load` reads them.
The first 600 images of a class are for training, the rest for testing. From a folder the first 700 images are taken,
the number in the class files.  Source: Dohare et al. 2024.
"""

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from plasticity_lab.data.download import unwritable
from plasticity_lab.data.folder import fetch_command
from plasticity_lab.data.image_set import ImageSet, Source, channel_moments
from plasticity_lab.errors import DataError

SUBFOLDER = "imagenet32"
IMAGE = (3, 32, 32)
WHITE = 255
CONTENTS = "contents.json"
IMAGES = {"training": "train_images.npy", "test": "test_images.npy"}


@dataclass(frozen=True)
class Size:
    """The size of the set.

    classes: the number of classes. train: training images per class. images: the most images taken from a folder.
    """

    classes: int = 1000
    train: int = 600
    images: int = 700


PUBLISHED = Size()


def load(folder: Path, size: Size = PUBLISHED) -> ImageSet:
    """The prepared set, 3×32×32, pixels 0..255, read from disk as it is used; `part` if there are fewer classes.

    Raises DataError if it has not been prepared, or its files do not belong together.
    """
    where = folder / SUBFOLDER
    try:
        contents = json.loads((where / CONTENTS).read_text())
        counts = {split: np.array(contents[split], np.int64) for split in IMAGES}
        images = {split: np.load(where / name, mmap_mode="r") for split, name in IMAGES.items()}
        mean, std = (np.array(contents[name], np.float32) for name in ("mean", "std"))
    except FileNotFoundError as error:
        raise _not_there(folder) from error
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise _damaged(folder) from error
    if any(images[split].shape != (counts[split].sum(), *IMAGE) for split in IMAGES):
        raise _damaged(folder)
    labels = {split: np.repeat(np.arange(len(counts[split])), counts[split]) for split in IMAGES}
    splits = [array for split in IMAGES for array in (images[split], labels[split])]
    classes = len(counts["training"])
    part = classes < size.classes
    return ImageSet(SUBFOLDER, *splits, classes=classes, white=WHITE, part=part, known_moments=(mean, std))


def outline(size: Size = PUBLISHED) -> ImageSet:
    """Black images, in the number and shape of the set."""
    train, test = size.classes * size.train, size.classes * (size.images - size.train)
    return ImageSet.blank(SUBFOLDER, train, test, image=IMAGE, classes=size.classes)


def fetch(folder: Path, size: Size = PUBLISHED) -> None:
    """Prepares the set from class files or folders of images, unless that is done.

    Raises DataError if there are neither, if they are damaged, or if the folder cannot be written.

    The files appear under their names only when they are complete, contents.json at the end.
    """
    where = folder / SUBFOLDER
    if (where / CONTENTS).exists():
        return
    classes = _class_files(where) or _class_folders(where, size)
    if not classes:
        raise _not_there(folder)
    try:
        _prepare(classes, where, size)
    except OSError as error:
        raise unwritable(where, error) from error


SOURCES = {SUBFOLDER: Source(load, "the shape of the arrays", fetch, SUBFOLDER, outline)}


@dataclass(frozen=True)
class Class:
    """A class.

    name: the name of its file or folder. count: its number of images. read: returns them, (N, 3, 32, 32).
    """

    name: str
    count: int
    read: Callable[[], NDArray[np.uint8]]


def _class_files(where: Path) -> list[Class]:
    paths = sorted((where / "classes").glob("*.npy"), key=lambda path: (len(path.stem), path.stem))  # 9 before 10
    return [Class(path.stem, len(_opened(path)), partial(_pixels_of_file, path)) for path in paths]


def _class_folders(where: Path, size: Size) -> list[Class]:
    classes = []
    for folder in sorted(path for path in (where / "train").glob("*") if path.is_dir()):
        files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
        taken = files[: size.images]
        classes.append(Class(folder.name, len(taken), partial(_down_sampled, taken)))
    return classes


def _opened(path: Path) -> NDArray[Any]:
    """The memory-mapped array of a class file.  Raises DataError if it holds no images of 32 × 32 pixels."""
    try:
        images = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path} is no NumPy file, or damaged: move it aside and bring the right one.") from error
    if images.ndim == 4 and images.shape[1:] == (*IMAGE[1:], IMAGE[0]):
        images = images.transpose(0, 3, 1, 2)
    if images.ndim != 4 or images.shape[1:] != IMAGE:
        raise DataError(f"{path} has the shape {images.shape}; it must be (N, 3, 32, 32) or (N, 32, 32, 3).")
    return images


def _pixels_of_file(path: Path) -> NDArray[np.uint8]:
    images = np.asarray(_opened(path))
    whole = images.clip(0, WHITE).astype(np.uint8)
    if not np.array_equal(whole, images):
        raise DataError(f"{path} has numbers that are no pixels; they must be whole ones from 0 to {WHITE}.")
    return whole


def _prepare(classes: Sequence[Class], where: Path, size: Size) -> None:
    few = [each for each in classes if each.count <= size.train]
    if few:
        raise DataError(
            f"The class {few[0].name} in {where} has {few[0].count} images; each must have more than {size.train}, "
            "which are for training."
        )
    counts = {"training": [size.train] * len(classes), "test": [each.count - size.train for each in classes]}
    paths = {split: where / f".{name}.unfinished" for split, name in IMAGES.items()}
    arrays = {split: open_memmap(path, "w+", np.uint8, (sum(counts[split]), *IMAGE)) for split, path in paths.items()}
    console = Console(stderr=True)
    first = {"training": 0, "test": 0}
    for each in track(classes, "preparing classes", console=console, disable=not console.is_terminal):
        images = each.read()
        for split, part in (("training", images[: size.train]), ("test", images[size.train :])):
            arrays[split][first[split] : first[split] + len(part)] = part
            first[split] += len(part)
    mean, std = channel_moments(arrays["training"], WHITE)
    for split, path in paths.items():
        arrays[split].flush()
        path.replace(where / IMAGES[split])
    contents = {**counts, "mean": mean.tolist(), "std": std.tolist(), "classes": [each.name for each in classes]}
    unfinished = where / f".{CONTENTS}.unfinished"
    unfinished.write_text(json.dumps(contents))
    unfinished.replace(where / CONTENTS)


def _down_sampled(paths: Sequence[Path]) -> NDArray[np.uint8]:
    """Pictures of any size and kind at 32 × 32 pixels, in colour, (N, 3, 32, 32): a pixel is the mean of its area.

    A picture that is not square is squeezed, as in the published ImageNet at 32 × 32 (Chrabaszcz et al. 2017).
    Raises DataError for a file that is no picture.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # Pillow releases the interpreter lock while it decodes
        return np.stack([*pool.map(_small_picture, paths)])


def _small_picture(path: Path) -> NDArray[np.uint8]:
    from PIL import Image, UnidentifiedImageError  # only preparing a set needs it

    try:
        with Image.open(path) as picture:
            small = picture.convert("RGB").resize(IMAGE[1:], Image.Resampling.BOX)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{path} is no picture that can be read: move it aside, or bring the right one.") from error
    return np.asarray(small).transpose(2, 0, 1)


def _not_there(folder: Path) -> DataError:
    """The error for a set that has not been prepared: how to prepare it, or which files it needs."""
    where, prepare = folder / SUBFOLDER, fetch_command(SUBFOLDER, folder)
    if any((where / "classes").glob("*.npy")) or (where / "train").is_dir():
        return DataError(f"ImageNet in {where} is not prepared yet: run {prepare} once.")
    return DataError(
        f"ImageNet at 32 × 32 is not in {where}, and cannot be downloaded: put the class files of the "
        f"loss-of-plasticity code into {where / 'classes'}, or ImageNet's training images, a folder a class, into "
        f"{where / 'train'}, and run {prepare}; or name the folder that holds {SUBFOLDER} with data=… or "
        "PLASTICITY_DATA."
    )


def _damaged(folder: Path) -> DataError:
    where = folder / SUBFOLDER
    return DataError(
        f"{where / CONTENTS} and its arrays are damaged, or do not belong together: move {CONTENTS} aside "
        f"and run {fetch_command(SUBFOLDER, folder)}, which prepares them again."
    )
