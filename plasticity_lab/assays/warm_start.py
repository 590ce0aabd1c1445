"""Warm start: the network goes on with all images of the set, and another one begins from scratch."""

from dataclasses import replace

import numpy as np

from plasticity_lab.assays.assay import Assay, Given, Problem
from plasticity_lab.assays.images import labelled_problem, lessons_of
from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.component import setting, with_settings
from plasticity_lab.others import Others


@with_settings
class WarmStart(Assay):
    """All training images of the set with their true labels, in the pixel order of the task that has ended; the test is
    on test images (Ash & Adams 2020, Section 2: the gap in test accuracy). examples: the most that are drawn.
    """

    steps: int = setting(2000, at_least=1)
    examples: int = setting(100_000, at_least=2)

    of_classes = True
    tests = True

    def objection(self, others: Others) -> str | None:
        """The network's outputs must be the classes of the image set."""
        if reason := super().objection(others):
            return reason
        benchmark = others.one("benchmark", LabelledBenchmark)
        outline = benchmark.outline()
        if outline is not None and benchmark.outputs(outline) != outline.classes:
            return "the network's outputs are not the classes of the image set there"
        return None

    def problem(self, given: Given) -> Problem:
        """The set's images."""
        images, every = given.resource, np.arange(len(given.resource.train_labels))
        benchmark = given.benchmark
        assert isinstance(benchmark, LabelledBenchmark)
        held_out = benchmark.first_held_out(len(images.test_labels))
        lessons = [
            replace(
                lesson, images=every, labels=images.train_labels, held_out=held_out,
                held_out_labels=images.test_labels[held_out], held_out_split="test",
            )
            for lesson in lessons_of(given, given.position)
        ]  # fmt: skip
        return labelled_problem(given, lessons, self.examples)
