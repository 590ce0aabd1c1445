"""The handwritten digits that scikit-learn ships: the embedded set, which needs no download."""

import gzip
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from plasticity_lab.data.image_set import ImageSet

TRAINING_IMAGES = 1437  # of 1,797 in file order; the other 360 are for testing


def load(folder: Path) -> ImageSet:
    """1,437 training and 360 test images, 1×8×8, pixels 0..16.  `folder` is not looked at.

    Source: the test part of the UCI "Optical Recognition of Handwritten Digits" (Alpaydin & Kaynak 1998).
    """
    # The file that sklearn.datasets.load_digits reads: importing that costs each worker more than a second.
    package = Path(find_spec("sklearn").origin).parent
    with gzip.open(package / "datasets" / "data" / "digits.csv.gz", "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.int64)  # an image a line: 64 pixels and the label
    images, labels = table[:, :-1].astype(np.uint8).reshape(-1, 1, 8, 8), table[:, -1]
    return ImageSet.measured(
        "digits",
        train=(images[:TRAINING_IMAGES], labels[:TRAINING_IMAGES]),
        test=(images[TRAINING_IMAGES:], labels[TRAINING_IMAGES:]),
        classes=10,
        white=16,
    )
