"""Benchmarks of somebody's own, each with one mistake, and one in order."""

from dataclasses import replace

import numpy as np

from plasticity_lab.benchmarks.labelled.permuted_pixels import PermutedPixels
from plasticity_lab.randomness.host import host_stream

LENGTHS, ORDERS = [], {}


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


class FirstLength(PermutedPixels):
    def lesson(self, image_set, seed, position):
        LENGTHS.append(self.tasks)
        if self.tasks != LENGTHS[0]:
            raise ValueError(f"{self.tasks} tasks")
        return super().lesson(image_set, seed, position)


class Kept(PermutedPixels):
    """In order: lessons are kept by all that they are made of."""

    def lesson(self, image_set, seed, position):
        key = image_set.train_images.shape, seed, position
        if key not in ORDERS:
            ORDERS[key] = super().lesson(image_set, seed, position).pixels
        return replace(super().lesson(image_set, seed, position), pixels=ORDERS[key])


class OfAHash(PermutedPixels):
    def lesson(self, image_set, seed, position):
        return super().lesson(image_set, seed + hash("tasks") % 10_000, position)


class Inverted(PermutedPixels):
    def lesson(self, image_set, seed, position):
        np.subtract(image_set.white, image_set.train_images, out=image_set.train_images)
        return super().lesson(image_set, seed, position)


class Darkest(PermutedPixels):
    """In order: it changes a copy of the images."""

    def lesson(self, image_set, seed, position):
        images = image_set.train_images.copy()
        images[images > 8] = 0
        darkest = images.sum(axis=(1, 2, 3)).argsort(kind="stable")
        lesson = super().lesson(image_set, seed, position)
        chosen = darkest[: len(lesson.images)]
        return replace(lesson, images=chosen, labels=image_set.train_labels[chosen])


IN_ORDER = (Again, Kept, Darkest)
FAULTY = {
    AtRandom: "asked again",
    OnTopOfEachOther: "pack of 2",
    FromOne: "labels",
    FirstLength: "fresh process it fails with ValueError",
    OfAHash: "PYTHONHASHSEED",
    Inverted: "share",
}
