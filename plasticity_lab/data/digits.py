"""The handwritten digits that scikit-learn ships; they need no download."""

import gzip
import zlib
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from plasticity_lab.data.image_set import ImageSet, Source
from plasticity_lab.errors import DataError

TRAINING_IMAGES = 1437  # of 1,797 in file order; the other 360 are for testing


def load(folder: Path) -> ImageSet:
    """1,437 training and 360 test images, 1×8×8, pixels 0..16.  `folder` is not used.

    Raises DataError if scikit-learn's file of digits cannot be read.
    Source: the test part of the UCI "Optical Recognition of Handwritten Digits" (Alpaydin & Kaynak 1998).
    """
    # This is the file that sklearn.datasets.load_digits reads; importing that costs each worker more than a second.
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise DataError("The digits come with scikit-learn, which is not installed: run `pip install scikit-learn`.")
    path = Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz"
    try:
        with gzip.open(path, "rt") as lines:
            table = np.loadtxt(lines, delimiter=",", dtype=np.int64)  # on each line 64 pixels and the label of an image
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise DataError(
            f"{path}, which comes with scikit-learn, is missing or damaged: run `pip install --force-reinstall "
            "--no-deps scikit-learn`."
        ) from error
    images, labels = table[:, :-1].astype(np.uint8).reshape(-1, 1, 8, 8), table[:, -1]
    train, test = slice(TRAINING_IMAGES), slice(TRAINING_IMAGES, None)
    return ImageSet("digits", images[train], labels[train], images[test], labels[test], classes=10, white=16)


SOURCES = {"digits": Source(load, checked="shipped with scikit-learn")}
