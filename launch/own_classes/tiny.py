"""A small pack for a class: the command's own choices made small, the package's in the place of other own classes.

So what goes wrong is the fault of the one class that is checked. No data need be there: images are made up in the shape
of those that the benchmark has, wherever the class is not the benchmark itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from launch.own_classes.named import OwnClass, is_own
from launch.runs.precedence import capped
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.ppo.agent import PPO
from plasticity_lab.agents.supervised.agent import Supervised
from plasticity_lab.benchmarks.benchmark import Benchmark, Resource
from plasticity_lab.benchmarks.bodies.benchmark import BodyCycle
from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.benchmarks.labelled.permuted_pixels import PermutedPixels
from plasticity_lab.component import Component, build, load, load_as, parameters, typed
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.errors import DataError, PlasticityError
from plasticity_lab.interventions.none import NoIntervention
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.run import Run
from plasticity_lab.stacking.adam import Adam

CAPS: Mapping[str, Mapping[str, int]] = {
    "agent": {
        "environments": 2, "rollout": 16, "minibatches": 2, "epochs": 2, "passes": 2, "memory": 40, "per_task": 20,
        "replayed": 5, "batch": 9, "n_step": 3, "capacity": 60, "min_history": 24, "update_period": 2,
        "target_period": 20, "epsilon_decay": 30, "epoch_steps": 40,
    },
    "benchmark": {
        "tasks": 2, "epochs": 2, "steps": 6, "images": 21, "images_per_class": 10, "batch_size": 9, "eval_images": 20,
        "environment_steps": 96, "test_episodes": 1, "test_factors": 1,
    },
    "intervention": {"every": 4},
    "network": {"width": 13, "channels": 5},
}  # fmt: skip
"""How large a setting of that name may be in the check, whoever's class has it. Odd numbers on purpose: a batch of 9, a
last one of 3 and a width of 13 leave incomplete vectors, in which some functions of torch have other bits."""
AT_LEAST = {"tasks": 2, "epochs": 2}
"""What a benchmark has, be it less by its own settings: a number that is kept for too long shows between two tasks, and
where a run is interrupted in the middle of one.
"""
LENGTHS = ("tasks", "epochs", "steps", "environment_steps", "test_episodes", "test_factors")
RUNS = 3
IMAGES, HELD_OUT = 12, 3
"""Made-up images of each class."""
STANDARD: Mapping[str, tuple[type[Component], Mapping[str, Any]]] = {
    "activation": (ReLU, {}),
    "intervention": (NoIntervention, {}),
    "network": (MLP, {"width": CAPS["network"]["width"]}),
    "optimizer": (Adam, {"lr": 1e-2}),
}
IMAGES_OF_STANDARD = {"source": "digits", "order": "shuffle", **CAPS["benchmark"]}


@dataclass(frozen=True)
class Tiny:
    """Runs that differ in their seeds and in all that may differ within a pack, and what their tasks are made of.

    description: in words, what they are.
    """

    runs: Sequence[Run]
    resource: Resource

    @property
    def description(self) -> str:
        """What is trained."""
        names = ", ".join(f"{group}={self.runs[0].name(group)}" for group in self.runs[0].targets)
        return (
            f"{len(self.runs)} small runs that differ in seed and {', '.join(self.varied) or 'nothing else'} ({names})"
        )

    @property
    def varied(self) -> list[str]:
        """The settings in which the runs differ."""
        first, *others = self.runs
        return [
            f"{group}.{name}"
            for group in first.targets
            for name, value in first.settings(group).items()
            if any(other.settings(group)[name] != value for other in others)
        ]


def tinies(own: OwnClass, folder: Path) -> Iterator[Tiny]:
    """Small packs for a class, each a little less small: whoever asks takes the first that it can train.

    A network may need an even width, a benchmark more images; only how long they last is never the command's own.
    Raises DataError where the class is a benchmark whose data are not in the folder, ConfigError where nothing fits.
    """
    of_length = {"benchmark": {name: CAPS["benchmark"][name] for name in LENGTHS}}
    smaller = (CAPS, {**CAPS, "network": {}}, {**CAPS, "network": {}, own.group: of_length.get(own.group, {})})
    for caps in smaller:
        try:
            run = _small(own, caps, folder)
            resource = _resource(own, run, folder)
            yield Tiny([_mate(run, place) for place in range(RUNS)], resource)
        except DataError:
            raise
        except PlasticityError as error:
            if caps is smaller[-1]:
                raise error


def longer(tiny: Tiny) -> Tiny:
    """Other runs of the same class, with other seeds, one task more and smaller batches, if the class has these."""
    runs = []
    for run in tiny.runs:
        settings = run.settings("benchmark")
        more = {"tasks": 1, "batch_size": -1}
        changed = {name: settings[name] + by for name, by in more.items() if isinstance(settings.get(name), int)}
        of_benchmark = run.name("benchmark"), run.targets["benchmark"], {**settings, **changed}
        other = run.with_option("benchmark", *of_benchmark) if _builds("benchmark", *of_benchmark) else run
        runs.append(replace(other, science={**other.science, "seed": 100 + run.science["seed"]}))
    return Tiny(runs, tiny.resource)


def _small(own: OwnClass, caps: Mapping[str, Mapping[str, int]], folder: Path) -> Run:
    """The run that named the class, made small."""
    science = {key: value for key, value in own.run.science.items() if key not in ("stream_seed", "init_seed")}
    small, kind = replace(own.run, id="small", science=science, asked_as=()), _kind(own)
    if own.group not in ("agent", "benchmark") and "benchmark" in caps:
        caps = {**caps, "benchmark": {**caps["benchmark"], "test_episodes": 0}}  # rollouts act as tests do
    for group, target in own.run.targets.items():
        replaced = group != own.group and (
            is_own(load(target)) or (group == "benchmark" and not _there(own.run, folder))
        )
        if replaced and (put := _standard(own, group, kind)) is not None:
            cls, settings = put
            name, target = cls.__name__, f"{cls.__module__}.{cls.__qualname__}"
            settings = typed(cls, group, name, settings)
        else:
            name, settings = small.name(group), _capped(group, own.run, target, caps.get(group, {}))
        small = small.with_option(group, name, target, settings)
    return small


def _there(run: Run, folder: Path) -> bool:
    """Whether what the tasks of the package's benchmark are made of can be had, be it in shape alone."""
    benchmark = run.component("benchmark", Benchmark)
    try:
        return isinstance(benchmark.outline(), ImageSet) or benchmark.resource(folder) is not None
    except DataError:
        return False


def _kind(own: OwnClass) -> type[Benchmark]:
    return LabelledBenchmark if issubclass(load(own.run.targets["benchmark"]), LabelledBenchmark) else BodyCycle


def _standard(own: OwnClass, group: str, kind: type) -> tuple[type[Component], Mapping[str, Any]] | None:
    """What takes another own class's place; None where the checked class can do with nothing else."""
    labelled = kind is LabelledBenchmark
    agent, benchmark = load_as(own.run.targets["agent"], Agent), load(own.run.targets["benchmark"])
    if group == "agent":
        cls = Supervised if labelled else PPO
        return (cls, _known(cls, CAPS["agent"])) if issubclass(benchmark, cls.learns) else None
    if group == "benchmark":
        if labelled and issubclass(PermutedPixels, agent.learns):
            return PermutedPixels, _known(PermutedPixels, IMAGES_OF_STANDARD)
        if not labelled and issubclass(BodyCycle, agent.learns):
            return BodyCycle, _known(BodyCycle, {"bodies": ["cartpole"], **CAPS["benchmark"]})
        return None
    return STANDARD.get(group)


def _known(cls: type[Component], settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name in parameters(cls)}


def _capped(group: str, run: Run, target: str, caps: Mapping[str, int]) -> dict[str, Any]:
    """The settings made small, as far as the class takes them so."""
    settings = run.settings(group)
    small = capped(settings, caps)
    if group == "benchmark":
        small |= {name: value for name, value in AT_LEAST.items() if caps and isinstance(small.get(name), int)}
    return small if _builds(group, run.name(group), target, small) else settings


def _builds(group: str, name: str, target: str, settings: Mapping[str, Any]) -> bool:
    try:
        build(group, name, target, settings)
    except Exception:  # somebody's own constructor can raise anything
        return False
    return True


def _mate(run: Run, place: int) -> Run:
    """The run with another seed, and other numbers wherever runs of a pack may have their own."""
    mate = replace(run, id=f"small {place}", science={**run.science, "seed": 11 + place})
    for group, target in run.targets.items():
        names, settings = load(target).run_axis_settings(), run.settings(group)
        # Earlier ones shrink more, so that a lower bound stays below an upper one.
        changed = {
            name: settings[name] * (1 - 0.03 * place) ** (len(names) - at) or 0.01 * place
            for at, name in enumerate(names)
            if isinstance(settings.get(name), float)
        }
        if _builds(group, run.name(group), target, {**settings, **changed}):
            mate = mate.with_option(group, run.name(group), target, {**settings, **changed})
    return mate


def _resource(own: OwnClass, run: Run, folder: Path) -> Resource:
    """What the small run's tasks are made of: made up in the shape of the real one, real where there is no shape."""
    benchmark = run.component("benchmark", Benchmark)
    outline = benchmark.outline()
    if is_own(type(benchmark)):
        try:
            return benchmark.resource(folder)
        except DataError:
            if outline is None:
                raise
            return outline
    if isinstance(outline, ImageSet):
        return _made_up(outline)
    return benchmark.resource(folder)


def _made_up(like: ImageSet) -> ImageSet:
    """Images of noise in another set's shape and classes, a few of each class."""
    draw = host_stream(0, "images of a check")

    def some(each: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.tile(np.arange(like.classes), each)
        return draw.integers(0, like.white + 1, (len(labels), *like.train_images.shape[1:]), np.uint8), labels

    return ImageSet("made_up", *some(IMAGES), *some(HELD_OUT), classes=like.classes, white=like.white)
