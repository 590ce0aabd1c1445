"""Augmentation: training images are shifted and mirrored in each step; held-out images are not.

Legend: M moves, C channels, H, W rows and columns, D pixels, C·H·W.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

KINDS = ("none", "crop", "flip", "crop_flip")


@dataclass(frozen=True)
class Augmentation:
    """kind: crop, flip or crop_flip. margin: black pixels that crop adds on each side.  Source: He et al. 2016, 4.2."""

    kind: str
    margin: int

    @property
    def moves(self) -> int:
        """M: (2 · margin + 1)² windows of a crop, and twice as many with a flip."""
        windows = (2 * self.margin + 1) ** 2 if "crop" in self.kind else 1
        return windows * (2 if "flip" in self.kind else 1)

    def sources(self, image: tuple[int, int, int]) -> NDArray[np.int64]:
        """For each move and pixel of the moved image, the pixel of the image that it shows, (M, D); D: a black one.

        image: (C, H, W).
        """
        count, (_, rows, columns) = int(np.prod(image)), image
        margin = self.margin if "crop" in self.kind else 0
        frame = (0, 0), (margin, margin), (margin, margin)
        framed = np.pad(np.arange(count).reshape(image), frame, constant_values=count)
        corners = [(top, left) for top in range(2 * margin + 1) for left in range(2 * margin + 1)]
        windows = [framed[:, top : top + rows, left : left + columns] for top, left in corners]
        if "flip" in self.kind:
            windows += [window[:, :, ::-1] for window in windows]
        return np.stack([window.ravel() for window in windows])
