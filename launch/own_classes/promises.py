"""What a class's verbs return, looked at whenever they are called: the right shapes, and of the right length.

Each wrapper stands for a component in the parts of a pack, and hands on everything else that is asked of it.
Legend: K runs, B examples, O numbers of an output, * any shape.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from launch.own_classes.shared_images import WRITES, read_only
from launch.own_classes.tiny import CAPS
from plasticity_lab.activations.activation import Site
from plasticity_lab.benchmarks.labelled.benchmark import Lesson
from plasticity_lab.component import Component
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.interventions.now import Now, State
from plasticity_lab.networks.network import Design, Shapes


class BrokenPromise(Exception):
    """A verb has returned something else than its contract says.  verb: its name; what: the sentence."""

    def __init__(self, verb: str, what: str) -> None:
        super().__init__(what)
        self.verb, self.what = verb, what


class Watched:
    """A component, and a look at what its verbs return.  asked: how often each was called."""

    def __init__(self, component: Any) -> None:
        self._component = component
        self.asked: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._component, name)

    @property
    def __class__(self) -> type:  # for isinstance: whoever asks for parts of a kind is given those that are looked at
        return type(self._component)

    def _called(self, verb: str, *given: Any) -> Any:
        self.asked[verb] = self.asked.get(verb, 0) + 1
        return getattr(self._component, verb)(*given)


class WatchedActivation(Watched):
    """x (K, B, D, *) → (K, B, D · expansion, *)."""

    def __call__(self, x: Tensor, site: Site) -> Tensor:
        """The activation's value."""
        h = self._called("__call__", x, site)
        grown = x.shape[2] * self.expansion
        _expect("__call__", h, (*x.shape[:2], int(grown), *x.shape[3:]), f"x {_described(x)}")
        return h


class WatchedIntervention(Watched):
    """State and penalty have the run first, and a state keeps its shapes.

    every: at most that of small packs, so that rare work is done in them too, whether it is a setting or the class's.
    """

    @property
    def every(self) -> int | None:
        """After how many updates `every_n_updates` is called."""
        own = self._component.every
        return own if own is None else min(own, CAPS["intervention"]["every"])

    def start(self, now: Now) -> State:
        """The first state."""
        state = self._called("start", now)
        if not isinstance(state, dict):
            raise BrokenPromise("start", f"'start' returns {_described(state)}, not a dictionary of tensors (K, …)")
        for name, value in state.items():
            if not isinstance(value, Tensor) or value.shape[:1] != (_runs(now),):
                what = f"'start' returns under '{name}' {_described(value)}, not a tensor of {_of_runs(_runs(now))}"
                raise BrokenPromise("start", what)
        return state

    def penalty(self, now: Now) -> Tensor:
        """(K,)."""
        value = self._called("penalty", now)
        _expect("penalty", value, (_runs(now),), f"a number for each of {_runs(now)} runs, (K,)")
        return value

    def after_step(self, now: Now) -> State:
        """The next state."""
        return self._next("after_step", now)

    def every_n_updates(self, now: Now) -> State:
        """The next state."""
        return self._next("every_n_updates", now)

    def before_task(self, now: Now) -> State:
        """The next state."""
        return self._next("before_task", now)

    def after_task(self, now: Now) -> State:
        """The next state."""
        return self._next("after_task", now)

    def measured(self, state: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """The columns, (K,)."""
        values = self._called("measured", state)
        wanted = {column.of for column in self.columns}
        if not isinstance(values, Mapping) or wanted != set(values):
            raise BrokenPromise(
                "measured", f"'measured' returns {_described(values)}, and its columns are {sorted(wanted)}"
            )
        return values

    def _next(self, verb: str, now: Now) -> State:
        before = {name: value.shape for name, value in now.state.items()}
        state = self._called(verb, now)
        after = {name: value.shape for name, value in state.items()} if isinstance(state, dict) else None
        if after != before:
            shapes = f"not a state of the shapes that 'start' gave it, {_shapes(before)}"
            raise BrokenPromise(verb, f"'{verb}' returns {_described(state)}, {shapes}")
        return state


class WatchedOptimizer(Watched):
    """Moments are like the parameters; corrections have a row for each step."""

    def start(self, parameters: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
        """The moments."""
        moments = self._called("start", parameters)
        wanted = {name: value.shape for name, value in parameters.items()}
        for kind, values in moments.items() if isinstance(moments, dict) else [("", moments)]:
            found = {name: value.shape for name, value in values.items()} if isinstance(values, dict) else None
            if found != wanted:
                raise BrokenPromise(
                    "start", f"'start' returns {_described(values)}, not moments like the parameters: {kind}"
                )
        return moments

    def corrections(self, settings: Mapping[str, Tensor], first: int, steps: int) -> dict[str, Tensor]:
        """A row for each step."""
        rows = self._called("corrections", settings, first, steps)
        if not isinstance(rows, dict) or any(value.shape[:1] != (steps,) for value in rows.values()):
            raise BrokenPromise(
                "corrections", f"'corrections' returns {_described(rows)}, not a row for each of {steps} steps"
            )
        return rows

    def update(self, parameters: Mapping[str, Tensor], *others: Any) -> None:
        """In place."""
        before = {name: value.data_ptr() for name, value in parameters.items()}
        self._called("update", parameters, *others)
        if {name: value.data_ptr() for name, value in parameters.items()} != before:
            raise BrokenPromise(
                "update", "'update' puts other tensors in the place of the parameters; change them in place"
            )


class WatchedNetwork(Watched):
    """Every output of a body has the numbers that it was asked for, and every loss of its own is one for each run."""

    def design(self, bodies: Mapping[str, Shapes], activation: Any) -> Design:
        """The layers."""
        self._bodies = bodies
        return self._called("design", bodies, activation)

    def forward(self, design: Design, parameters: Any, x: Tensor, activate: Any, body: str) -> dict[str, Tensor]:
        """Name → (K, B, O)."""
        outputs: Any = self._called("forward", design, parameters, x, activate, body)
        for name, numbers in self._bodies[body].outputs.items():
            value = outputs.get(name) if isinstance(outputs, Mapping) else outputs
            _expect("forward", value, (*x.shape[:2], numbers), f"'{name}' for x {_described(x)}")
        for name in design.losses:
            _expect("forward", outputs.get(name), (len(x),), f"the loss '{name}' for x {_described(x)}")
        return outputs


class WatchedBenchmark(Watched):
    """The lessons of labelled images: indices that exist, as many labels as images, the same whenever asked."""

    def lesson(self, image_set: ImageSet, seed: int, position: int) -> Lesson:
        """Task `position` of a run."""
        try:
            with read_only(image_set):
                lesson, again = (self._called("lesson", image_set, seed, position) for _ in range(2))
        except ValueError as error:
            if "read-only" in str(error):
                raise BrokenPromise("lesson", f"'lesson' writes into {WRITES}") from error
            raise
        if not isinstance(lesson, Lesson):
            raise BrokenPromise("lesson", f"'lesson' returns {_described(lesson)}, not a Lesson")
        training = lesson.held_out_split == "train"
        held_out = len(image_set.train_labels if training else image_set.test_labels)
        pixels = int(np.prod(image_set.train_images.shape[1:]))
        rules = {
            "images": (lesson.images, len(lesson.images), len(image_set.train_labels)),
            "labels": (lesson.labels, len(lesson.images), self.outputs(image_set)),
            "held_out": (lesson.held_out, len(lesson.held_out), held_out),
            "held_out_labels": (lesson.held_out_labels, len(lesson.held_out), self.outputs(image_set)),
            "pixels": (np.arange(pixels) if lesson.pixels is None else lesson.pixels, pixels, pixels),
        }
        for name, (values, count, below) in rules.items():
            if values.shape != (count,) or not np.issubdtype(values.dtype, np.integer):
                raise BrokenPromise("lesson", f"'lesson' has {name} {_described(values)}, not {count} whole numbers")
            if values.size and not 0 <= values.min() <= values.max() < below:
                what = (
                    f"'lesson' has {name} from {values.min()} to {values.max()}; they must lie within 0 … {below - 1}"
                )
                raise BrokenPromise("lesson", what)
            if not np.array_equal(values, getattr(again, name) if getattr(again, name) is not None else values):
                what = f"'lesson' has other {name} when it is asked again for seed {seed} and task {position}"
                raise BrokenPromise("lesson", what)
        return lesson


WATCHED: Mapping[str, Callable[[Component], Watched]] = {
    "activation": WatchedActivation,
    "benchmark": WatchedBenchmark,
    "intervention": WatchedIntervention,
    "network": WatchedNetwork,
    "optimizer": WatchedOptimizer,
}
"""By group. What an agent's learner returns is looked at by the journal, which takes it."""


def _expect(verb: str, value: Any, shape: tuple[int, ...], for_what: str) -> None:
    if not isinstance(value, Tensor) or tuple(value.shape) != shape or not torch.is_floating_point(value):
        raise BrokenPromise(verb, f"'{verb}' returns {_described(value)}, not a tensor of floats {shape}: {for_what}")


def _runs(now: Now) -> int:
    return next(iter(now.parameters.values())).shape[0]


def _of_runs(runs: int) -> str:
    return f"{runs} runs, ({runs}, …)"


def _shapes(shapes: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {tuple(shape)}" for name, shape in shapes.items()) or "nothing"


def _described(value: Any) -> str:
    """A value by its kind and shape."""
    if isinstance(value, Tensor | np.ndarray):
        return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_described(each)}" for name, each in value.items()) + "}"
    return type(value).__name__
