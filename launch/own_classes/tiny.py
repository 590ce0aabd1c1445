"""A small pack for a class: the command's choices made small, the package's classes in the place of other own ones.

So any error is the fault of the one class that is checked. No data are needed unless the class is the benchmark itself:
images are made up in the shape of the benchmark's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from launch.own_classes.named import OwnClass, is_own
from launch.runs.precedence import capped
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.agents.agent import Agent
from plasticity_lab.agents.ppo.agent import PPO
from plasticity_lab.agents.supervised.agent import Supervised
from plasticity_lab.agents.value.targets.auto import Auto
from plasticity_lab.assays.none import NoAssay
from plasticity_lab.benchmarks.benchmark import Benchmark, Resource
from plasticity_lab.benchmarks.bodies.benchmark import BodyCycle
from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.benchmarks.labelled.permuted_pixels import PermutedPixels
from plasticity_lab.component import Component, build, load, load_as, parameters, typed
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.diagnostics.none import NoDiagnostic
from plasticity_lab.errors import DataError, PlasticityError
from plasticity_lab.interventions.none import NoIntervention
from plasticity_lab.networks.heads.dense import Flatten
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.perturbations.none import NoPerturbation
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.run import Run
from plasticity_lab.stacking.adam import Adam

CAPS: Mapping[str, Mapping[str, int]] = {
    "agent": {
        "environments": 2, "rollout": 16, "minibatches": 2, "epochs": 2, "passes": 2, "memory": 40, "per_task": 20,
        "replayed": 5, "batch": 9, "n_step": 3, "capacity": 60, "min_history": 24, "update_period": 2,
        "target_period": 20, "epsilon_decay": 30, "epoch_steps": 24,
    },
    "benchmark": {
        "tasks": 2, "epochs": 2, "steps": 6, "images": 21, "images_per_class": 10, "chunks": 2, "batch_size": 9,
        "eval_images": 20, "environment_steps": 56, "test_episodes": 1, "test_factors": 1,
    },
    "intervention": {"every": 4, "at": 5},
    "network": {"width": 13, "channels": 5},
}  # fmt: skip
"""The largest value of a setting with that name in the check, in any class.

The numbers are odd on purpose: a batch of 9, a last batch of 3 and a width of 13 leave incomplete vectors. Some
functions of torch have other bits in these.
"""
AT_LEAST = {"tasks": 2, "epochs": 2}
"""The least values for a benchmark, even if its settings are smaller.

A number that is kept for too long shows between two tasks, or if a run is interrupted in the middle of a task.
"""
LENGTHS = ("tasks", "epochs", "steps", "environment_steps", "test_episodes", "test_factors")
RUNS = 3
EXTREMES = (0.0, 1.0)
"""Values of the checked class's float settings in two further runs, as far as the class takes them."""
IMAGES, HELD_OUT = 12, 3
"""Made-up images of each class."""
STANDARD: Mapping[str, tuple[type[Component], Mapping[str, Any]]] = {
    "activation": (ReLU, {}),
    "assay": (NoAssay, {}),
    "diagnostics": (NoDiagnostic, {}),
    "head": (Flatten, {}),
    "intervention": (NoIntervention, {}),
    "network": (MLP, {"width": CAPS["network"]["width"]}),
    "optimizer": (Adam, {"lr": 1e-2}),
    "perturbation": (NoPerturbation, {}),
    "target": (Auto, {}),
}
"""Group → a class that is known to be right, and its settings."""
BENCHMARK = {"source": "digits", "order": "shuffle", "bodies": ["cartpole"], **CAPS["benchmark"]}
"""Settings of the benchmark that replaces another one; each class has some of these."""


@dataclass(frozen=True)
class Tiny:
    """Runs that differ in their seeds and in all that may differ within a pack, and the resource of their tasks.

    extremes: position in `runs` → the settings of the checked class with unusual values, in words.
    """

    runs: Sequence[Run]
    resource: Resource
    extremes: Mapping[int, str] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """The runs in words."""
        first, *others = usual = [run for at, run in enumerate(self.runs) if at not in self.extremes]
        names = ", ".join(f"{group}={first.name(group)}" for group in first.targets)
        varied = [
            f"{group}.{name}"
            for group in first.targets
            for name, value in first.settings(group).items()
            if any(other.settings(group)[name] != value for other in others)
        ]
        return f"{len(usual)} small runs that differ in seed and {', '.join(varied) or 'nothing else'} ({names})"


def tinies(own: OwnClass, folder: Path) -> Iterator[Tiny]:
    """Small packs for a class, each larger than the one before; the check uses the first that can be trained.

    A network may need an even width, a benchmark more images. Only their length is never the command's own. Raises
    DataError if the class is a benchmark and its data are not in the folder, ConfigError if nothing fits.
    """
    of_length = {"benchmark": {name: CAPS["benchmark"][name] for name in LENGTHS}}
    smaller = (CAPS, {**CAPS, "network": {}}, {**CAPS, "network": {}, own.group: of_length.get(own.group, {})})
    for caps in smaller:
        try:
            run = _small(own, caps, folder)
            resource = _resource(own, run, folder)
            yield _with_extremes([_varied(run, number) for number in range(RUNS)], resource, own.group)
        except DataError:
            raise
        except PlasticityError:
            if caps is smaller[-1]:
                raise


def longer(tiny: Tiny) -> Tiny:
    """Other runs of the same class, with other seeds, one task more and smaller batches, if the class has these."""
    runs = []
    for run in tiny.runs:
        settings = run.settings("benchmark")
        for name, difference in (("tasks", 1), ("batch_size", -1)):
            if isinstance(settings.get(name), int):
                settings = {**settings, name: settings[name] + difference}
        other = _with_settings(run, "benchmark", settings)
        runs.append(replace(other, science={**other.science, "seed": 100 + run.science["seed"]}))
    return Tiny(runs, tiny.resource)


def _small(own: OwnClass, caps: Mapping[str, Mapping[str, int]], folder: Path) -> Run:
    """The run that named the class, made small."""
    science = {key: value for key, value in own.run.science.items() if key not in ("stream_seed", "init_seed")}
    small = replace(own.run, id="small", science=science, asked_as=())
    if own.group not in ("agent", "benchmark") and "benchmark" in caps:
        caps = {**caps, "benchmark": {**caps["benchmark"], "test_episodes": 0}}  # rollouts act as tests do
    for group, target in own.run.targets.items():
        replaced = group != own.group and (
            is_own(load(target)) or (group == "benchmark" and not _has_data(own.run, folder))
        )
        standard = _standard(own, group) if replaced else None
        if standard is not None:
            small = _with_class(small, group, *standard)
        else:
            settings = _capped(group, own.run, target, caps.get(group, {}))
            small = small.with_option(group, small.name(group), target, settings)
    return small


def instead(own: OwnClass, tiny: Tiny, group: str, folder: Path) -> Tiny | None:
    """The same small pack with a class that is known to be right in one group; None if no class fits there.

    folder: contains the data sets.
    """
    standard = _standard(own, group) if group in tiny.runs[0].targets else None
    if standard is None or load(tiny.runs[0].targets[group]) is standard[0]:
        return None
    runs = [_with_class(run, group, *standard) for run in tiny.runs]
    try:
        resource = _resource(own, runs[0], folder) if group == "benchmark" else tiny.resource
    except PlasticityError:
        return None
    return Tiny(runs, resource, tiny.extremes)


def _with_class(run: Run, group: str, cls: type[Component], settings: Mapping[str, Any]) -> Run:
    target = f"{cls.__module__}.{cls.__qualname__}"
    return run.with_option(group, cls.__name__, target, typed(cls, group, cls.__name__, settings))


def _has_data(run: Run, folder: Path) -> bool:
    """Whether the resource of the package's benchmark can be loaded, or at least its shape is known."""
    benchmark = run.component("benchmark", Benchmark)
    try:
        return isinstance(benchmark.outline(), ImageSet) or benchmark.resource(folder) is not None
    except DataError:
        return False


def _standard(own: OwnClass, group: str) -> tuple[type[Component], Mapping[str, Any]] | None:
    """A class of the group that is known to be right, and its settings; None if none fits the checked class."""
    if group not in ("agent", "benchmark"):
        return STANDARD.get(group)
    agent, benchmark = load_as(own.run.targets["agent"], Agent), load(own.run.targets["benchmark"])
    labelled = issubclass(benchmark, LabelledBenchmark)
    if group == "benchmark":
        cls: type[Component] = PermutedPixels if labelled else BodyCycle
        fits, settings = issubclass(cls, agent.learns), BENCHMARK
    elif (base := _base_of(agent, own)) is not None:
        small = capped(own.run.settings("agent"), CAPS["agent"])
        return base, {name: of for name, of in small.items() if name in parameters(base)}
    else:
        cls = Supervised if labelled else PPO
        fits, settings = issubclass(benchmark, (Supervised if labelled else PPO).learns), CAPS["agent"]
    return (cls, {name: settings[name] for name in settings if name in parameters(cls)}) if fits else None


def _base_of(agent: type[Agent], own: OwnClass) -> type[Agent] | None:
    """The nearest base of an agent that belongs to the package and is an agent by itself; None if it has none."""
    bases = [base for base in agent.__mro__[1:] if issubclass(base, Agent) and not is_own(base)]
    settings = own.run.settings("agent")
    for base in bases:
        whole = base.learner is not Agent.learner
        small = {name: of for name, of in capped(settings, CAPS["agent"]).items() if name in parameters(base)}
        if whole and _builds("agent", base.__name__, f"{base.__module__}.{base.__qualname__}", small):
            return base
    return None


def _capped(group: str, run: Run, target: str, caps: Mapping[str, int]) -> dict[str, Any]:
    """The settings made small; unchanged if the class refuses the small ones."""
    settings = run.settings(group)
    small = capped(settings, caps)
    if group == "benchmark":
        small |= {name: value for name, value in AT_LEAST.items() if caps and isinstance(small.get(name), int)}
    return small if _builds(group, run.name(group), target, small) else settings


def _builds(group: str, name: str, target: str, settings: Mapping[str, Any]) -> bool:
    try:
        build(group, name, target, settings)
    except Exception:  # an own constructor can raise anything
        return False
    return True


def _varied(run: Run, number: int) -> Run:
    """The run with another seed, and other values of the settings on the run axis."""
    varied = replace(run, id=f"small {number}", science={**run.science, "seed": 11 + number})
    for group, target in run.targets.items():
        names, settings = load(target).run_axis_settings(), dict(run.settings(group))
        for at, name in enumerate(names):
            if isinstance(settings.get(name), float):
                # Earlier ones shrink more, so that a lower bound stays below an upper one.
                settings[name] = settings[name] * (1 - 0.03 * number) ** (len(names) - at) or 0.01 * number
        varied = _with_settings(varied, group, settings)
    return varied


def _with_settings(run: Run, group: str, settings: Mapping[str, Any]) -> Run:
    """The run with other settings of a group; the run itself if the class does not take them."""
    name, target = run.name(group), run.targets[group]
    return run.with_option(group, name, target, settings) if _builds(group, name, target, settings) else run


def _with_extremes(runs: Sequence[Run], resource: Resource, group: str) -> Tiny:
    """The runs, and for each of EXTREMES one with as many float settings of the group at that value as it takes."""
    extremes: dict[int, str] = {}
    runs = list(runs)
    for value in EXTREMES:
        run, changed = _varied(runs[0], len(runs)), []
        for name in load(run.targets[group]).run_axis_settings():
            settings = run.settings(group)
            if isinstance(settings.get(name), float) and _builds(
                group, run.name(group), run.targets[group], settings | {name: value}
            ):
                run = _with_settings(run, group, settings | {name: value})
                changed.append(f"{group}.{name}={value:g}")
        if changed:
            extremes[len(runs)] = ", ".join(changed)
            runs.append(run)
    return Tiny(runs, resource, extremes)


def _resource(own: OwnClass, run: Run, folder: Path) -> Resource:
    """The resource of the small run's tasks: made up in the real one's shape; the real one if no shape is known."""
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

    def some(of_each_class: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.tile(np.arange(like.classes), of_each_class)
        return draw.integers(0, like.white + 1, (len(labels), *like.train_images.shape[1:]), np.uint8), labels

    return ImageSet("made_up", *some(IMAGES), *some(HELD_OUT), classes=like.classes, white=like.white)
