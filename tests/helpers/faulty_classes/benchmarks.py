"""Benchmarks of somebody's own, each with one mistake, and one in order."""

from dataclasses import replace

import numpy as np

from plasticity_lab.benchmarks.labelled.permuted_pixels import PermutedPixels
from plasticity_lab.randomness.host import host_stream


class Again(PermutedPixels):
    """In order."""


class AtRandom(PermutedPixels):
    def lesson(self, image_set, seed, position):
        return replace(super().lesson(image_set, seed, position), pixels=np.random.default_rng().permutation(64))


class OnTopOfEachOther(PermutedPixels):
    asked = ()
    last = np.arange(64)

    def lesson(self, image_set, seed, position):
        if (seed, position) != self.asked:
            self.asked, self.last = (seed, position), host_stream(seed, "chain", position).permutation(self.last)
        return replace(super().lesson(image_set, seed, position), pixels=self.last)


class FromOne(PermutedPixels):
    def lesson(self, image_set, seed, position):
        found = super().lesson(image_set, seed, position)
        return replace(found, labels=found.labels + 1)


class Lessons(PermutedPixels):
    def lessons(self, image_set, seed, position):
        return None


IN_ORDER = (Again,)
FAULTY = {
    AtRandom: "asked again",
    OnTopOfEachOther: "pack of 2",
    FromOne: "labels",
    Lessons: "lesson",
}
