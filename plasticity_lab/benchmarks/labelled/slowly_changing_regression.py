"""Regression on a target network while a few bits of the input change slowly."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark, Lesson
from plasticity_lab.component import check, setting, with_settings
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.errors import ConfigError
from plasticity_lab.randomness.host import host_stream


class Target(NamedTuple):
    """A network of threshold units: hidden (H, D), bias (H,), thresholds (H,), output (H,), constant."""

    hidden: NDArray[np.int64]
    bias: NDArray[np.int64]
    thresholds: NDArray[np.float64]
    output: NDArray[np.int64]
    constant: int

    def values(self, bits: NDArray[np.int64]) -> NDArray[np.int64]:
        """Its values for inputs (N, D) of bits: whole numbers (N,), as its weights are 1 and −1."""
        features = bits @ self.hidden.T + self.bias > self.thresholds
        return features @ self.output + self.constant


@with_settings
class SlowlyChangingRegression(LabelledBenchmark):
    """Each step predicts a number from D bits. The first `flipping_bits` change between tasks only, the rest each step.

    The number is the value of a target network of threshold units, fixed for the run. Its weights and biases are 1 and
    −1. Unit i is on if its sum exceeds β (D + 1) − S_i, with S_i = (D − Σ weights + bias) / 2 as in the authors' code.
    After a task all inputs that it can show are evaluated.

    flipping_bits: bits that are the same throughout a task.
    flip: one (one of them, drawn at random, flips between tasks, as in the paper) or all (all are drawn again, as in
        the authors' configuration).
    target_features: threshold units of the target network.
    beta: β, how rarely its units are on.
    subset: first or drawn, with the same result: each run draws its inputs.

    Source: Dohare et al. 2024, Methods (slowly changing regression, formerly bit flipping).
    """

    tasks_are = "inputs of bits with numbers to predict"
    predicts_numbers = True

    flipping_bits: int = setting(15, at_least=1, at_most=19)
    flip: str = setting("one", one_of=("one", "all"))
    target_features: int = setting(100, at_least=1)
    beta: float = setting(0.7, at_least=0, at_most=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        check("benchmark.subset", self.subset, one_of=("first", "drawn"))
        check("benchmark.source", self.source, one_of=("bits20",))
        if self.eval_matrix:
            raise ConfigError("benchmark.eval_matrix is true, and a task matrix has accuracies; it must be false.")

    @classmethod
    def canonical(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings, with one value for `subset`."""
        return {**super().canonical(settings), "subset": "first"}

    def outputs(self, image_set: ImageSet) -> int:
        """One number."""
        return 1

    def lesson(self, image_set: ImageSet, seed: int, position: int) -> Lesson:
        """The inputs of task `position`, one for each step, and their numbers as labels."""
        bits = image_set.train_images.shape[-1]
        free = bits - self.flipping_bits
        drawn = host_stream(seed, "free bits", position).integers(0, 2, (self.images, free))
        every = np.arange(2**free)[:, None] >> np.arange(free) & 1
        slow, target = self.slow_bits(seed, position), target_of(seed, bits, self.target_features, self.beta)
        (images, labels), (held_out, held_out_labels) = (
            (shown @ (1 << np.arange(bits)), target.values(shown))
            for shown in (np.hstack([np.tile(slow, (len(rest), 1)), rest]) for rest in (drawn, every))
        )
        evaluated = self.first_held_out(len(held_out))
        return Lesson(
            images=images,
            labels=labels,
            pixels=None,
            held_out=held_out[evaluated],
            held_out_labels=held_out_labels[evaluated],
            held_out_split="train",
        )

    def slow_bits(self, seed: int, position: int) -> NDArray[np.int64]:
        """The bits that do not change within task `position`."""
        if self.flip == "all":
            return host_stream(seed, "slow bits", position).integers(0, 2, self.flipping_bits)
        first = host_stream(seed, "slow bits").integers(0, 2, self.flipping_bits)
        flips = host_stream(seed, "flips").integers(0, self.flipping_bits, position)
        return first ^ (np.bincount(flips, minlength=self.flipping_bits) & 1)


@lru_cache(maxsize=128)
def target_of(seed: int, bits: int, features: int, beta: float) -> Target:
    """The target network of a run with that stream seed. Cached, because each task requests it."""
    draw = host_stream(seed, "target network")
    hidden, bias, output, constant = (
        2 * draw.integers(0, 2, shape) - 1 for shape in ((features, bits), features, features, ())
    )
    thresholds = beta * (bits + 1) - (bits - hidden.sum(axis=1) + bias) / 2
    return Target(hidden, bias, thresholds, output, int(constant))
