"""The image sets by name.  A new set is a module with an entry in its `SOURCES`, and its name below."""

from importlib import import_module
from pathlib import Path

from plasticity_lab.data.image_set import ImageSet, Source
from plasticity_lab.errors import ConfigError

MODULES = {
    "bits20": "bits",
    "cifar10": "cifar",
    "cifar100": "cifar",
    "digits": "digits",
    "imagenet32": "imagenet32",
    "mnist": "mnist",
}
"""Image set → its module, which is imported when its set is used."""


def source_named(name: str) -> Source:
    """The source with this name.  Raises ConfigError, naming the image sets, if it does not exist."""
    if name not in MODULES:
        raise ConfigError(f"There is no image set '{name}'; there are {', '.join(MODULES)}.")
    return import_module(f"plasticity_lab.data.{MODULES[name]}").SOURCES[name]


def load_images(source: str, folder: Path) -> ImageSet:
    """The image set of that name, read from the folder of data sets (see `data_folder`) and verified.

    Raises ConfigError for an unknown name, DataError for files that are missing or damaged.
    """
    return source_named(source).load(folder)


def verified(name: str, folder: Path) -> str:
    """Reads and verifies an image set; a line with its folder, its size and the checks.

    Raises ConfigError for an unknown name, DataError for files that are missing or damaged.
    """
    source = source_named(name)
    images = source.load(folder)
    where = f" in {folder / source.subfolder}" if source.subfolder else ""
    part = ", a part of the published set" if images.part else ""
    count = f"{len(images.train_images):,} training and {len(images.test_images):,} test images"
    return f"{name}{where}: {count}{part}; {source.checked}."
