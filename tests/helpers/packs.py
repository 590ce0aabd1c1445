"""Packs trained by hand, without files or configuration: what the tests of the engine share."""

import io
import os
import shutil
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

import plasticity_lab
from plasticity_lab.agents.supervised.learner import SupervisedLearner
from plasticity_lab.assembly import assembled
from plasticity_lab.component import load, typed
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.kernels.build import missing
from plasticity_lab.records.rows import Position
from plasticity_lab.run import Run
from plasticity_lab.trainer import train

CONF = Path(plasticity_lab.__file__).parents[1] / "conf"
CPU = torch.device("cpu")
NOT_SETTINGS = (
    "_target_",
    "grids",
    "stand_in",
    "default_network",
    "default_agent",
    "default_grid",
    "default_settings",
    "strengths",
)
BENCHMARKS = {
    "pixels": "plasticity_lab.benchmarks.labelled.permuted_pixels.PermutedPixels",
    "labels": "plasticity_lab.benchmarks.labelled.random_labels.RandomLabels",
}
OF_CLASSES = {"new_classes": "plasticity_lab.benchmarks.labelled.new_classes.NewClasses"}
COMPILER = any(shutil.which(name) for name in (os.environ.get("CXX", "g++"), "g++", "clang++"))
needs_compiler = pytest.mark.skipif(not COMPILER, reason="torch.compile needs a C++ compiler")
needs_kernels = pytest.mark.skipif(missing() is not None, reason=f"no kernels: {missing()}")
SUPERVISED = "supervised", "plasticity_lab.agents.supervised.agent.Supervised", {}
NO_INTERVENTION = "plasticity_lab.interventions.none.NoIntervention", {}


def choices(group: str) -> list[str]:
    """The names of a config group's choices that name a class."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml") if "_target_" in _content(group, path.stem))


def choice(group: str, name: str) -> tuple[str, dict[str, Any]]:
    """A choice's class and its settings as its file gives them."""
    content = _content(group, name)
    return content["_target_"], {key: deepcopy(value) for key, value in content.items() if key not in NOT_SETTINGS}


def interventions_under(agent: str) -> list[str]:
    """The options of conf/intervention that need no particular kind of units, and that the agent does not refuse."""
    provided = load(choice("agent", agent)[0]).provides
    classes = {name: load(choice("intervention", name)[0]) for name in choices("intervention")}
    return [name for name, of in classes.items() if of.unit_kind is None and of.requires <= provided]


@cache
def _content(group: str, name: str) -> dict[str, Any]:
    """A choice's file, which is read once: a pack of many runs asks for the same few."""
    return OmegaConf.to_container(OmegaConf.load(CONF / group / f"{name}.yaml"))


def images(side: int, train: int, test: int, *, classes: int = 10, channels: int = 1) -> ImageSet:
    """Made-up images that can be learned: a picture of each class under noise, much of it black as in real digits."""
    draw = np.random.default_rng(0)
    pictures = draw.normal(-20, 130, (classes, channels, side, side))

    def some(count: int) -> tuple[np.ndarray, np.ndarray]:
        labels = draw.integers(0, classes, count)
        noisy = pictures[labels] + draw.normal(0, 60, (count, channels, side, side))
        return noisy.clip(0, 255).astype(np.uint8), labels

    return ImageSet("made_up", *some(train), *some(test), classes=classes, white=255)


def run(
    seed: int = 0,
    activation: str = "relu",
    shape: dict[str, Any] | None = None,
    *,
    benchmark: str = "pixels",
    network: dict[str, Any] | None = None,
    optimizer: dict[str, Any] | None = None,
    intervention: tuple[str, dict[str, Any]] = NO_INTERVENTION,
    agent: tuple[str, str, dict[str, Any]] = SUPERVISED,
    head: str | None = None,
    perturbation: dict[str, Any] | None = None,
    **stream: Any,
) -> Run:
    """A resolved run.

    shape, network, optimizer: the activation's, the network's and the optimizer's settings that differ from their
    files' (and the latter two's names); intervention: a class and its settings; agent: a name, its class and its
    settings; head: None: a run that is older than heads; perturbation: of shocks, None: none;
    stream: the benchmark's settings.
    """
    target, settings = choice("activation", activation)
    groups = {
        "activation": (activation, target, settings | (shape or {})),
        "benchmark": (
            benchmark,
            {**BENCHMARKS, **OF_CLASSES}.get(benchmark) or choice("benchmark", benchmark)[0],
            {"source": "made_up", "tasks": 1, "epochs": 1, "steps": None, "batch_size": 16} | stream,
        ),
        "network": ("network", *_network(**(network or {}))),
        "optimizer": _optimizer(**(optimizer or {})),
        "intervention": ("intervention", *intervention),
        "agent": agent,
        **({} if head is None else {"head": (head, *choice("head", head))}),
        **({} if perturbation is None else {"perturbation": ("shocks", *_shocks(perturbation))}),
    }
    science = {
        group: {"name": name, **typed(load(target), group, name, settings)}
        for group, (name, target, settings) in groups.items()
    }
    return Run("made_up", {"seed": seed, **science}, {group: target for group, (_, target, _) in groups.items()})


def _network(name: str = "mlp", target: str | None = None, **settings: Any) -> tuple[str, dict[str, Any]]:
    """target: a class that is no choice of conf/."""
    if target is not None:
        return target, settings
    target, usual = choice("network", name)
    return target, usual | settings


def _optimizer(name: str = "adam", **settings: Any) -> tuple[str, str, dict[str, Any]]:
    target, usual = choice("optimizer", name)
    return name, target, usual | settings


def _shocks(settings: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    target, usual = choice("perturbation", "shocks")
    return target, usual | settings


@dataclass
class Measured:
    """A journal in memory: losses and accuracies (steps, K), values of epochs and of tasks (epochs or tasks, K)."""

    position: Position = field(default_factory=lambda: Position(0, 0))
    chunks: list[tuple[int, int]] = field(default_factory=list)
    rows: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def add_chunk(self, chunk, rows) -> None:
        assert chunk.task == self.position.task
        self.chunks.append((chunk.first, chunk.steps))
        self.position = Position(chunk.task, self.position.step + chunk.steps)
        for name, values in rows.updates.items():
            assert values.dtype == np.float64
            self.rows.setdefault(name, []).append(values)
        for name, values in rows.values.items():
            self.rows.setdefault(name, []).append(values[None])

    def add_task(self, task, rows) -> None:
        assert task.position == self.position.task
        self.position = Position(task.position + 1, 0)
        for name, values in rows.items():
            self.rows.setdefault(name, []).append(values[None])

    def of(self, k: int) -> dict[str, np.ndarray]:
        """Everything measured of one run."""
        return {name: np.concatenate(rows)[:, k] for name, rows in self.rows.items()}


class Interrupted(Exception):
    pass


class Keeper:
    """Stops the pack after that many looks; never by default."""

    def __init__(self, looks: int | None = None) -> None:
        self.left = looks

    def look(self, agent, journal) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left == 0:
                raise Interrupted

    def task_ends(self, agent, task) -> None:
        pass


@dataclass
class Trained:
    measured: Measured
    agent: SupervisedLearner

    def of(self, k: int) -> dict[str, np.ndarray]:
        """All numbers of run k: what was measured, and its parameters."""
        weights = {name: value[k].numpy() for name, value in self.agent.weights().items()}
        return self.measured.of(k) | weights


def trained(
    runs: Sequence[Run],
    image_set: ImageSet,
    *,
    compiled: bool = False,
    kernels: bool = False,
    stops: Sequence[int] = (),
    device: torch.device = CPU,
) -> Trained:
    """The pack, trained to its end; `stops` are looks at which it is stopped and resumed in a new agent."""
    measured, kept = Measured(), None
    for looks in [*stops, None]:
        stream, agent = assembled(runs, image_set, device, compiled, kernels=kernels)
        if kept is not None:
            agent.load(restored(kept), {})
        try:
            train(stream, agent, measured, Keeper(looks))
        except Interrupted:
            kept = saved(agent.state())
        else:
            assert looks is None, "the pack ended before it was stopped"
    return Trained(measured, agent)


def saved(state: dict[str, Any]) -> bytes:
    """A checkpoint's bytes."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def restored(kept: bytes) -> dict[str, Any]:
    """What a checkpoint holds."""
    return torch.load(io.BytesIO(kept), weights_only=True)


def differing(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> list[str]:
    """The names under which two runs' numbers are not the same bits."""
    assert one.keys() == other.keys()
    return [name for name in one if one[name].tobytes() != other[name].tobytes()]
