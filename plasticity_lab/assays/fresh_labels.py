"""Random labels: can the network still fit labels that have nothing to do with its tasks?"""

from plasticity_lab.assays.assay import Assay, Given, Problem
from plasticity_lab.assays.images import for_pairs, images_drawn, lessons_of, rows_of
from plasticity_lab.component import with_settings
from plasticity_lab.randomness.host import host_stream


@with_settings
class FreshLabels(Assay):
    """Images of the task that has ended, each with a random label, for a fixed number of steps (Lyle et al. 2023,
    Section 3). Labels are drawn from all outputs of the network.
    """

    of_classes = True

    def problem(self, given: Given) -> Problem:
        """`examples` images of the task (all, if it has fewer), and a label for each."""
        lessons = lessons_of(given, given.position)
        rows, first = rows_of(given, lessons)
        images = images_drawn(given, len(lessons[0].images), self.examples)
        classes = given.model.bodies[given.model.only_body].outputs["logits"]
        labels = [host_stream(seed, "assay labels").integers(classes, size=len(images[0])) for seed in given.seeds]
        at, of_pairs = for_pairs(given, images) + first, for_pairs(given, labels)
        return Problem(rows, given.for_copies(at), given.for_copies(of_pairs))
