"""Growing data: the images of one set arrive in chunks, and stay or are replaced."""

from collections.abc import Sequence

from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark, Lesson
from plasticity_lab.component import setting, with_settings
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.errors import ConfigError


@with_settings
class Growing(LabelledBenchmark):
    """Task t trains on chunk t of the run's images, together with all earlier chunks if they stay.

    The chunks are consecutive parts of the run's images (`subset`), as equal as possible. All tasks are evaluated on
    the test images of the set.

    chunks: number of chunks, which together have `images` images; more tasks than chunks are refused.
    accumulate: whether earlier chunks stay.

    Source: Ash & Adams 2020, Section 2 (data that arrive in rounds); Lee et al. 2024 and Han et al. 2026 (ten chunks).
    """

    tasks_are = "chunks of one set of images"

    chunks: int = setting(10, at_least=1)
    accumulate: bool = True

    def __post_init__(self) -> None:
        if self.chunks > self.images:
            raise ConfigError(
                f"benchmark.chunks is {self.chunks}, and benchmark.images {self.images}; each chunk needs an image."
            )
        if self.tasks > self.chunks:
            raise ConfigError(
                f"benchmark.tasks is {self.tasks}, and each task adds a chunk; it must be at most benchmark.chunks, "
                f"{self.chunks}."
            )
        super().__post_init__()

    def ends(self) -> list[int]:
        """The number of images at the end of each chunk."""
        return [self.images * (chunk + 1) // self.chunks for chunk in range(self.chunks)]

    @property
    def task_images(self) -> Sequence[int]:
        """Images of each task."""
        ends = self.ends()
        starts = [0] * len(ends) if self.accumulate else [0, *ends]
        return [end - start for end, start in zip(ends, starts, strict=False)]

    def lesson(self, image_set: ImageSet, seed: int, position: int) -> Lesson:
        """The images of task `position`, in the order of their arrival."""
        end = self.ends()[position]
        images = self.chosen(image_set, seed)[end - self.task_images[position] : end]
        return Lesson.of_set(image_set, images, self.first_held_out(len(image_set.test_labels)))
