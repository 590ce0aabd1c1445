"""All patterns of twenty bits, as images of one row: inputs of generated problems, which need no download."""

from pathlib import Path

import numpy as np

from plasticity_lab.data.image_set import ImageSet, Source

BITS = 20


def load(folder: Path) -> ImageSet:
    """Pattern p is image p, 1×1×20: bit j of the number p is pixel j. `folder` is not used.

    Labels are 0, because problems over these inputs generate their targets. The only test image is pattern 0.
    """
    numbers = np.arange(2**BITS, dtype="<u4").view(np.uint8).reshape(-1, 4)
    images = np.unpackbits(numbers, axis=1, count=BITS, bitorder="little").reshape(-1, 1, 1, BITS)
    labels = np.zeros(len(images), np.int64)
    return ImageSet("bits20", images, labels, images[:1], labels[:1], classes=1, white=1)


SOURCES = {"bits20": Source(load, checked="generated")}
