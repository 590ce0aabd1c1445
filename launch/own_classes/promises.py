"""Wrappers that check the results of a class's methods at every call: the right shapes, and of the right length.

Each wrapper takes the place of a component in the parts of a pack, and passes on everything else.
Legend: K runs, B examples, O numbers of an output, * any shape.
"""

from collections.abc import Callable, Mapping
from functools import partialmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from launch.own_classes.shared_arrays import WRITES, read_only
from launch.own_classes.tiny import CAPS
from plasticity_lab.activations.activation import Site
from plasticity_lab.agents.value.targets.inputs import TargetInputs
from plasticity_lab.benchmarks.labelled.benchmark import Lesson
from plasticity_lab.component import Component
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.interventions.now import Now, Penalty, State
from plasticity_lab.networks.network import Design, Shapes


class BrokenPromise(Exception):
    """The result of a method contradicts its contract.  what: a sentence that begins with the method's name."""

    def __init__(self, verb: str, what: str) -> None:
        self.verb, self.what = verb, f"'{verb}' {what}"
        super().__init__(self.what)


class Watched:
    """A component that checks the results of its methods.  asked: method → the number of its calls."""

    def __init__(self, component: Any) -> None:
        self._component = component
        self.asked: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._component, name)

    @property
    def __class__(self) -> type:  # for isinstance
        return type(self._component)

    def _called(self, verb: str, *arguments: Any) -> Any:
        self.asked[verb] = self.asked.get(verb, 0) + 1
        return getattr(self._component, verb)(*arguments)


class WatchedActivation(Watched):
    """x (K, B, D, *) → (K, B, D · expansion, *)."""

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """The activation's value."""
        h = self._called("__call__", x, site)
        outputs = int(x.shape[2] * self.expansion)
        _check_floats("__call__", h, (*x.shape[:2], outputs, *x.shape[3:]), f"x {_described(x)}")
        return h


class WatchedIntervention(Watched):
    """State and penalty have the run axis first, and a state keeps its shapes."""

    @property
    def every(self) -> int | None:
        """The number of updates between calls of `every_n_updates`, capped to the length of small packs."""
        every = self._component.every
        return every if every is None else min(every, CAPS["intervention"]["every"])

    def start(self, now: Now) -> State:
        """The first state."""
        state, runs = self._called("start", now), _runs(now)
        if not isinstance(state, dict):
            raise BrokenPromise("start", f"returns {_described(state)}, not a dictionary of tensors (K, …)")
        for name, value in state.items():
            if not isinstance(value, Tensor) or value.shape[:1] != (runs,):
                what = f"returns under '{name}' {_described(value)}, not a tensor of {runs} runs, ({runs}, …)"
                raise BrokenPromise("start", what)
        return state

    def penalty(self, now: Now) -> Tensor | Penalty:
        """(K,), and tensors of K runs if it notes any."""
        value, runs = self._called("penalty", now), _runs(now)
        total, noted = value if isinstance(value, Penalty) else (value, {})
        _check_floats("penalty", total, (runs,), f"a number for each of {runs} runs, (K,)")
        for name, each in noted.items():
            if not isinstance(each, Tensor) or each.shape[:1] != (runs,):
                what = f"notes under '{name}' {_described(each)}, not a tensor of {runs} runs, ({runs}, …)"
                raise BrokenPromise("penalty", what)
        return value

    def measured(self, state: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """The columns, (K,)."""
        values, columns = self._called("measured", state), {column.of for column in self.columns}
        if not isinstance(values, Mapping) or columns != set(values):
            raise BrokenPromise("measured", f"returns {_described(values)}, and its columns are {sorted(columns)}")
        return values

    def _next(self, verb: str, now: Now) -> State:
        before = {name: value.shape for name, value in now.state.items()}
        state = self._called(verb, now)
        if _shapes_of(state) != before:
            shapes = ", ".join(f"{name} {tuple(shape)}" for name, shape in before.items()) or "nothing"
            what = f"returns {_described(state)}, not a state of the shapes that 'start' gave it, {shapes}"
            raise BrokenPromise(verb, what)
        return state

    after_step = partialmethod(_next, "after_step")
    every_n_updates = partialmethod(_next, "every_n_updates")
    before_task = partialmethod(_next, "before_task")
    after_task = partialmethod(_next, "after_task")


class WatchedOptimizer(Watched):
    """Moments have the shapes of the parameters, states the run axis first; corrections have a row for each step."""

    def start(self, parameters: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
        """The moments."""
        moments = self._called("start", parameters)
        for kind, values in moments.items() if isinstance(moments, dict) else [("", moments)]:
            if _shapes_of(values) != _shapes_of(parameters):
                raise BrokenPromise("start", f"returns {_described(values)}, not moments like the parameters: {kind}")
        return moments

    def start_state(self, parameters: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
        """The state besides the moments."""
        state, runs = self._called("start_state", parameters), len(next(iter(parameters.values())))
        for kind, values in state.items() if isinstance(state, dict) else [("", state)]:
            shapes = _shapes_of(values)
            if shapes is None or any(shape[:1] != (runs,) for shape in shapes.values()):
                raise BrokenPromise("start_state", f"returns {_described(values)}, not tensors of {runs} runs: {kind}")
        return state

    def corrections(self, settings: Mapping[str, Tensor], first: int, steps: int) -> dict[str, Tensor]:
        """A row for each step."""
        rows = self._called("corrections", settings, first, steps)
        if not isinstance(rows, dict) or any(value.shape[:1] != (steps,) for value in rows.values()):
            raise BrokenPromise("corrections", f"returns {_described(rows)}, not a row for each of {steps} steps")
        return rows

    def update(self, parameters: Mapping[str, Tensor], *others: Any) -> None:
        """In place."""
        self._in_place("update", parameters, parameters, *others)

    def step(self, now: Any) -> None:
        """An update rule's step, in place."""
        self._in_place("step", now.parameters, now)

    def _in_place(self, verb: str, parameters: Mapping[str, Tensor], *arguments: Any) -> None:
        before = [(name, value.data_ptr()) for name, value in parameters.items()]
        self._called(verb, *arguments)
        if [(name, value.data_ptr()) for name, value in parameters.items()] != before:
            raise BrokenPromise(verb, "puts other tensors in the place of the parameters; change them in place")


class WatchedNetwork(Watched):
    """Every output has the size that was asked for, and every loss of the network has one number for each run."""

    def design(self, bodies: Mapping[str, Shapes], activation: Any) -> Design:
        """The layers."""
        self._bodies = bodies
        return self._called("design", bodies, activation)

    def forward(self, design: Design, parameters: Any, x: Tensor, activate: Any, body: str) -> dict[str, Tensor]:
        """Name → (K, B, O)."""
        outputs: Any = self._called("forward", design, parameters, x, activate, body)
        for name, size in self._bodies[body].outputs.items():
            value = outputs.get(name) if isinstance(outputs, Mapping) else outputs
            _check_floats("forward", value, (*x.shape[:2], size), f"'{name}' for x {_described(x)}")
        for name in design.losses:
            _check_floats("forward", outputs.get(name), (len(x),), f"the loss '{name}' for x {_described(x)}")
        return outputs


class WatchedBenchmark(Watched):
    """The lessons of labelled images: indices that exist, as many labels as images, the same at every call."""

    def lesson(self, image_set: ImageSet, seed: int, position: int) -> Lesson:
        """Task `position` of a run."""
        try:
            with read_only(image_set):
                lesson, again = (self._called("lesson", image_set, seed, position) for _ in range(2))
        except ValueError as error:
            if "read-only" in str(error):
                raise BrokenPromise("lesson", f"writes into {WRITES}") from error
            raise
        if not isinstance(lesson, Lesson):
            raise BrokenPromise("lesson", f"returns {_described(lesson)}, not a Lesson")
        training = lesson.held_out_split == "train"
        held_out = len(image_set.train_labels if training else image_set.test_labels)
        pixels = int(np.prod(image_set.train_images.shape[1:]))
        labels = None if self._component.predicts_numbers else self.outputs(image_set)  # numbers have no limit
        limits = {
            "images": (len(lesson.images), len(image_set.train_labels)),
            "labels": (len(lesson.images), labels),
            "held_out": (len(lesson.held_out), held_out),
            "held_out_labels": (len(lesson.held_out), labels),
            "pixels": (pixels, pixels),
        }
        for name, (count, below) in limits.items():
            values, values_again = getattr(lesson, name), getattr(again, name)
            if values is not None:
                _check_indices(name, values, count, below)
                if values_again is not None and not np.array_equal(values, values_again):
                    what = f"has other {name} when it is asked again for seed {seed} and task {position}"
                    raise BrokenPromise("lesson", what)
        return lesson


class WatchedTarget(Watched):
    """A number for each example of each run; with atoms a distribution."""

    def beside(self, agent: Any) -> "WatchedTarget":
        """The target that computes for the agent, watched too."""
        found = WatchedTarget(self._component.beside(agent))
        found.asked = self.asked
        return found

    def target(self, inputs: TargetInputs) -> Tensor:
        """(K, B) or (K, B, Z)."""
        value = self._called("target", inputs)
        shape = (*inputs.returns.shape, *([inputs.atoms] if inputs.atoms else []))
        _check_floats("target", value, shape, f"returns {_described(inputs.returns)}")
        return value


WATCHED: Mapping[str, Callable[[Component], Watched]] = {
    "activation": WatchedActivation,
    "benchmark": WatchedBenchmark,
    "intervention": WatchedIntervention,
    "network": WatchedNetwork,
    "optimizer": WatchedOptimizer,
    "target": WatchedTarget,
}
"""By group. The journal checks the results of an agent's learner."""


def _check_indices(name: str, values: np.ndarray, count: int, below: int | None) -> None:
    if values.shape != (count,) or not np.issubdtype(values.dtype, np.integer):
        raise BrokenPromise("lesson", f"has {name} {_described(values)}, not {count} whole numbers")
    if below is not None and values.size and not 0 <= values.min() <= values.max() < below:
        what = f"has {name} from {values.min()} to {values.max()}; they must lie within 0 … {below - 1}"
        raise BrokenPromise("lesson", what)


def _check_floats(verb: str, value: Any, shape: tuple[int, ...], of_what: str) -> None:
    if not isinstance(value, Tensor) or tuple(value.shape) != shape or not torch.is_floating_point(value):
        raise BrokenPromise(verb, f"returns {_described(value)}, not a tensor of floats {shape}: {of_what}")


def _runs(now: Now) -> int:
    return next(iter(now.parameters.values())).shape[0]


def _shapes_of(tensors: Any) -> Mapping[str, Any] | None:
    """Name → shape; None if it is no dictionary."""
    return {name: value.shape for name, value in tensors.items()} if isinstance(tensors, dict) else None


def _described(value: Any) -> str:
    """A value by its kind and shape."""
    if isinstance(value, Tensor | np.ndarray):
        return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_described(part)}" for name, part in value.items()) + "}"
    return type(value).__name__
