"""What every benchmark of labelled images in conf/ keeps: a new file there is tested without being listed here.

Each is cut short, on made-up images of its set's shape, with a small network of its own kind.
"""

from functools import cache

import numpy as np
import pytest
import yaml

from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.component import build, load, parameters
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.data.sources import source_named
from plasticity_lab.run import Run
from tests.helpers.packs import CONF, choice, choices, differing, images, run, trained

CLASSES = {name: load(choice("benchmark", name)[0]) for name in choices("benchmark")}
NAMES = [name for name, of in CLASSES.items() if issubclass(of, LabelledBenchmark) and not of.predicts_numbers]
SHORT = {
    "tasks": 3,
    "groups": 3,
    "chunks": 3,
    "epochs": 2,
    "steps": 5,
    "images": 30,
    "images_per_class": 9,
    "batch_size": 7,
}
SMALL = {"mlp": {"width": 12}, "cnn": {"channels": 4, "width": 12}, "cnn_case_study": {"channels": 4, "width": 12}}


def short(name: str) -> dict:
    """The settings of a benchmark's file, those of its length cut."""
    settings = choice("benchmark", name)[1]
    cut = settings | {key: value for key, value in SHORT.items() if key in settings}
    return cut | {"tasks": min(cut["tasks"], settings["tasks"])}


@cache
def made_images(name: str) -> ImageSet:
    """Of the shape that the benchmark's set has, and of enough classes."""
    outline = source_named(choice("benchmark", name)[1]["source"]).outline
    channels, side = (1, 8) if outline is None else outline().train_images.shape[1:3]
    return images(side, 600, 120, channels=channels, classes=18)


def run_of(name: str, seed: int, network: str | None = None) -> Run:
    file = yaml.safe_load((CONF / "benchmark" / f"{name}.yaml").read_text())
    network = network or file["default_network"]
    return run(
        seed,
        "rand_smooth_leaky",
        benchmark=name,
        network={"name": network} | SMALL[network],
        agent=(file["default_agent"], *choice("agent", file["default_agent"])),
        **short(name),
    )


@pytest.mark.walk(2)
@pytest.mark.parametrize("name", NAMES)
def test_a_run_is_the_same_alone_packed_and_resumed_within_a_task(name):
    alone = trained([run_of(name, 1)], made_images(name)).of(0)
    tasks = short(name)["tasks"]
    assert len(alone["loss"]) > 4 * tasks
    assert len(alone["final_accuracy"]) == tasks
    packed = trained([run_of(name, seed) for seed in (4, 1, 0)], made_images(name))
    assert not differing(alone, packed.of(1))
    assert differing(alone, packed.of(0))
    resumed = trained([run_of(name, seed) for seed in (1, 9)], made_images(name), stops=(1, 2, 1))
    assert not differing(alone, resumed.of(0))


@pytest.mark.parametrize("name", NAMES)
def test_any_task_is_a_function_of_seed_and_position_and_its_streams_differ(name):
    benchmark = build("benchmark", name, choice("benchmark", name)[0], short(name))

    def arrays(seed: int, position: int) -> tuple:
        lesson = benchmark.lesson(made_images(name), seed, position)
        parts = (lesson.images, lesson.labels, lesson.pixels, lesson.held_out, lesson.held_out_labels)
        return tuple(None if part is None else part.tobytes() for part in parts)

    positions = range(benchmark.tasks)
    last_first = {(seed, position): arrays(seed, position) for seed in (1, 0) for position in reversed(positions)}
    assert last_first == {place: arrays(*place) for place in reversed(last_first)}
    assert len({last_first[0, position] for position in positions}) == benchmark.tasks
    assert last_first[0, 1] != last_first[1, 1]


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_among_the_outputs_and_images_within_the_set(name):
    benchmark, there = build("benchmark", name, choice("benchmark", name)[0], short(name)), made_images(name)
    for position in range(benchmark.tasks):
        lesson = benchmark.lesson(there, 3, position)
        assert benchmark.images_of(position) <= len(lesson.images) == len(lesson.labels) <= benchmark.max_images
        for epoch in range(2):
            shown = benchmark.order_of(lesson.labels, 3, position, epoch)
            assert len(np.unique(shown)) == len(shown) == benchmark.images_of(position)
            assert {*shown} <= {*range(len(lesson.images))}
        assert len(np.unique(lesson.images)) == len(lesson.images)
        held_out = there.test_labels if lesson.held_out_split == "test" else there.train_labels
        assert max(lesson.images) < len(there.train_labels)
        assert max(lesson.held_out) < len(held_out)
        assert {*lesson.labels, *lesson.held_out_labels} <= set(range(benchmark.outputs(there)))


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_can_change_what_table_e1_says_of_it(name):
    known = parameters(load(choice("benchmark", name)[0]))
    assert {"tasks", "epochs", "steps", "batch_size"} <= known.keys()
    assert {"images", "images_per_class"} & known.keys()
