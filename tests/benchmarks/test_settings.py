"""The settings of labelled benchmarks: each is declared and explained once, and somebody's own class has those of its
base.
"""

import re

import pytest

from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.benchmarks.labelled.joint_classes import JointClasses
from plasticity_lab.benchmarks.labelled.new_classes import NewClasses
from plasticity_lab.component import check, load, parameters, setting, typed, with_settings
from plasticity_lab.errors import ConfigError
from tests.helpers.packs import choice, choices

CLASSES = {load(choice("benchmark", name)[0]) for name in choices("benchmark")}
LABELLED = sorted((cls for cls in CLASSES if issubclass(cls, LabelledBenchmark)), key=lambda cls: cls.__name__)
SHORT = {"source": "digits", "images": 30, "tasks": 3, "epochs": 2, "steps": None, "batch_size": 7}


@with_settings
class Declared(LabelledBenchmark):
    """As in the recipe."""

    noise: float = setting(0.1, at_least=0, at_most=1)


class ByHand(LabelledBenchmark):
    """With a constructor, as earlier recipes had it."""

    def __init__(self, source: str, images: int, tasks: int, epochs: int | None, steps: int | None, batch_size: int,
                 noise: float = 0.1) -> None:  # fmt: skip
        super().__init__(source, images, tasks, epochs, steps, batch_size)
        self.noise = check("benchmark.noise", noise, at_least=0, at_most=1)


@pytest.mark.parametrize("cls", LABELLED, ids=lambda cls: cls.__name__)
def test_each_setting_has_one_line_that_explains_it(cls):
    of_benchmarks = [each for each in cls.__mro__ if issubclass(each, LabelledBenchmark)]
    explained = [
        name for each in of_benchmarks for name in re.findall(r"^ *(\w+): ", each.__dict__["__doc__"], re.MULTILINE)
    ]
    assert set(parameters(cls)) <= set(explained)
    twice = {name for name in explained if explained.count(name) > 1}
    assert twice <= {"order", "subset", "Source"}, "only what a class makes of its base's setting is said again"


NEEDED = ["source", "tasks", "epochs", "steps", "batch_size"]
COMMON = [
    "order", "normalise", "subset", "eval_images", "eval_matrix", "transition_steps", "transition", "augment",
    "crop_margin",
]  # fmt: skip


@pytest.mark.parametrize(
    ("cls", "order"),
    [
        (JointClasses, [*NEEDED, "groups", "classes_per_task", "images_per_class", *COMMON]),
        (NewClasses, [*NEEDED, "classes_per_task", "images_per_class", "classes_repeat", *COMMON]),
        (Declared, ["source", "images", *NEEDED[1:], "noise", *COMMON]),
    ],
)
def test_a_classs_own_settings_come_before_those_of_its_base_as_records_and_names_have_them(cls, order):
    assert list(parameters(cls)) == order


@pytest.mark.parametrize("cls", [Declared, ByHand])
def test_a_class_of_ones_own_has_the_settings_of_its_base_and_the_checks(cls):
    assert typed(cls, "benchmark", "mine", SHORT)["noise"] == 0.1
    made = cls(**SHORT)
    assert (made.max_batches, made.total_steps, made.order) == (5, 30, "fixed")
    for wrong in ({"noise": 2.0}, {"batch_size": 31}):
        with pytest.raises(ConfigError, match=rf"benchmark\.{next(iter(wrong))}"):
            cls(**SHORT | wrong)


def test_what_follows_from_other_settings_is_none_itself():
    known = parameters(NewClasses)
    assert "images" not in known
    assert "images_per_class" in known
    short = {name: value for name, value in SHORT.items() if name != "images"}
    assert NewClasses(**short, classes_per_task=2, images_per_class=4).images == 8
