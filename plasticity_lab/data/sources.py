"""The image sets there are. A new one is a module with `load` (and `fetch`, if it is downloaded) and a
function with an entry here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.errors import ConfigError


@dataclass(frozen=True)
class Source:
    """Where an image set comes from.

    load: the image set out of the folder of data sets; raises DataError if it is missing or damaged.
    checked: what `load` has compared with what was published.
    fetch: downloads into the folder of data sets what is not there yet, or prepares it out of what is there; None for a
    set that ships with a package.
    subfolder: where its files lie in the folder of data sets.
    outline: black images in the number and shape of the published ones, so that runs can be planned before the set is
    there; None for a set that ships with a package.
    """

    load: Callable[[Path], ImageSet]
    checked: str
    fetch: Callable[[Path], None] | None = None
    subfolder: str = ""
    outline: Callable[[], ImageSet] | None = None


def _cifar(name: str) -> Source:
    from plasticity_lab.data import cifar

    published = {"cifar10": cifar.CIFAR10, "cifar100": cifar.CIFAR100}[name]
    return Source(
        partial(cifar.load, published),
        checked="the length of all records and the range of their labels",
        fetch=partial(cifar.fetch, published),
        subfolder=published.subfolder,
        outline=partial(cifar.outline, published),
    )


def _digits() -> Source:
    from plasticity_lab.data import digits

    return Source(digits.load, checked="shipped with scikit-learn")


def _imagenet32() -> Source:
    from plasticity_lab.data import imagenet32

    return Source(
        imagenet32.load,
        checked="the shape of the arrays",
        fetch=imagenet32.fetch,
        subfolder=imagenet32.SUBFOLDER,
        outline=imagenet32.outline,
    )


def _mnist() -> Source:
    from plasticity_lab.data import mnist

    return Source(
        mnist.load,
        checked="md5 of all four files as published",
        fetch=mnist.fetch,
        subfolder=mnist.SUBFOLDER,
        outline=mnist.outline,
    )


SOURCES: dict[str, Callable[[], Source]] = {
    "cifar10": partial(_cifar, "cifar10"),
    "cifar100": partial(_cifar, "cifar100"),
    "digits": _digits,
    "imagenet32": _imagenet32,
    "mnist": _mnist,
}
"""A run needs one of them: the module of each is imported when its set is asked for."""


def sources() -> list[str]:
    """The names of all image sets."""
    return sorted(SOURCES)


def source_named(name: str) -> Source:
    """The source of that name.  Raises ConfigError, naming the right ones, if there is none."""
    if name not in SOURCES:
        raise ConfigError(f"There is no image set '{name}'; there are {', '.join(sources())}.")
    return SOURCES[name]()


def load_images(source: str, folder: Path) -> ImageSet:
    """The image set of that name, read from the folder of data sets (see `data_folder`) and verified.

    Raises ConfigError for an unknown name, DataError for files that are missing or damaged.
    """
    return source_named(source).load(folder)


def verified(source: str, folder: Path) -> str:
    """Reads and verifies an image set; a line that says where it is, how much, and what was checked.

    Raises ConfigError for an unknown name, DataError for files that are missing or damaged.
    """
    of, images = source_named(source), load_images(source, folder)
    where = f" in {folder / of.subfolder}" if of.subfolder else ""
    part = ", a part of the published set" if images.part else ""
    count = f"{len(images.train_images):,} training and {len(images.test_images):,} test images"
    return f"{source}{where}: {count}{part}; {of.checked}."
