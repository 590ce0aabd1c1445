"""The handwritten digits that scikit-learn ships: the embedded set, which needs no download."""

from pathlib import Path

import numpy as np

from plasticity_lab.data.image_set import ImageSet

TRAINING_IMAGES = 1437  # of 1,797 in file order; the other 360 are for testing


def load(folder: Path) -> ImageSet:
    """1,437 training and 360 test images, 1×8×8, pixels 0..16.  `folder` is not looked at.

    Source: the test part of the UCI "Optical Recognition of Handwritten Digits" (Alpaydin & Kaynak 1998).
    """
    from sklearn.datasets import load_digits  # imported here because it takes most of a second

    bunch = load_digits()
    images, labels = bunch.images[:, None].astype(np.uint8), bunch.target.astype(np.int64)
    return ImageSet.measured(
        "digits",
        train=(images[:TRAINING_IMAGES], labels[:TRAINING_IMAGES]),
        test=(images[TRAINING_IMAGES:], labels[TRAINING_IMAGES:]),
        classes=10,
        white=16,
    )
