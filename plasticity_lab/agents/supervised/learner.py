"""The learner of the supervised agent: cross-entropy on arriving batches, one optimizer step each.

Legend: K runs, S steps, B examples of a batch, N training images of a task, M held-out images, E of them at a time, D
    pixels, O classes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.agent import State
from plasticity_lab.agents.compiled import Call, Compiled, compile_together
from plasticity_lab.agents.evenly_spread import evenly_spread, probe_of
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.supervised import several
from plasticity_lab.agents.supervised.coming import ComingImages
from plasticity_lab.agents.supervised.earlier import EarlierTask
from plasticity_lab.agents.supervised.images import Pixels, laid_out, room_for
from plasticity_lab.agents.supervised.many_steps import NUMBERS, SCORE, ManySteps, kernel_of
from plasticity_lab.agents.supervised.matrix_row import row_of
from plasticity_lab.agents.supervised.perturbed import Perturbed
from plasticity_lab.agents.supervised.score import AT_ONCE, HeldOut, HeldOutUnmoved, indices, score_of
from plasticity_lab.agents.supervised.step import (
    MOVE,
    READS,
    READS_IN_TRANSITION,
    cross_entropy_of,
    log_likelihood,
    step_of,
)
from plasticity_lab.agents.supervised.tables import DrawnByEpoch, Tables, aligned_batches, moves_of, second_batches
from plasticity_lab.agents.update import SECOND, Loss, takes_second
from plasticity_lab.benchmarks.labelled.stream import CHUNK_STEPS, Chunk, Task
from plasticity_lab.data.image_set import ImageSet
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.encoder import Encoder
from plasticity_lab.networks.model import Model
from plasticity_lab.records.bulk import Bulk
from plasticity_lab.records.rows import Evaluation, Rows


class SupervisedLearner:
    """K runs of one model, optimizer and intervention, learning from labelled images on one device.

    compiled: whether the step is one compiled graph; results differ from the eager step in their last bits.
    max_norm: the largest norm of a run's gradients; None: no limit.
    """

    loss_of: Callable[[Model], Loss] = staticmethod(cross_entropy_of)
    """From the model to its loss."""
    evaluates_by: ClassVar[str] = SCORE
    """The part of the kernels that evaluates held-out images, if a call takes many steps."""

    def __init__(
        self,
        parts: Parts,
        model: Model,
        image_set: ImageSet,
        device: torch.device,
        compiled: bool,
        max_norm: float | None = None,
    ) -> None:
        benchmark = parts.benchmark
        self.image_set, self.device, self.runs = image_set, device, len(parts.init_seeds)
        self.max_images, self.stream_seeds = benchmark.max_images, parts.stream_seeds
        on_cpu = device.type == "cpu"
        last = on_cpu and parts.kernels and isinstance(model.network, Encoder)
        self.pixels = Pixels(image_set, benchmark.normalise, device, last, benchmark.augmentation)
        self.network = network = PackedNetwork(parts, model, device)
        self.keys = network.step_keys
        self.many = self._many_steps(parts, compiled and on_cpu, max_norm is not None)
        step = step_of(
            model, network.optimizer, network.intervention, self.pixels, parts.kernels, self.loss_of, max_norm
        )
        self.held_out = HeldOut(image_set, device, self.pixels.order)
        self.to_score, reading = self.held_out, model.network.reading
        if benchmark.permutes and on_cpu and reading is not None:  # not tried on a GPU
            self.to_score = HeldOutUnmoved(image_set, device, reading)
        score = score_of(model, self.pixels, parts.kernels)
        self.same = (parts.structure, model.structure_key, *self.pixels.structure_key)
        self.step = self.mixing = step
        self.several: Callable[..., Mapping[str, Tensor]] | None = None  # `several.STEPS` steps in one launch
        if compiled:
            words = "supervised step", *self.same
            self.step = Compiled(step, words, reads=READS)
            if device.type == "cuda":
                self.several = Compiled(step, words, reads=several.READS, around=several.several)
            of_mixing = "supervised step in a transition", *self.same
            self.mixing = Compiled(step, of_mixing, reads=READS_IN_TRANSITION)
        of_score = "supervised score", *self.same
        self.score = Compiled(score, of_score, reads=range(7)) if compiled else score
        self.tables = Tables(min(CHUNK_STEPS, benchmark.max_batches), self.runs, benchmark.batch_size, device)
        self.second = DrawnByEpoch(benchmark, partial(second_batches, benchmark, self.stream_seeds))
        self.size, self.facts = model.size, {"classes": benchmark.outputs(image_set)}
        self.moves = None if benchmark.augmentation is None else DrawnByEpoch(benchmark, self._moves_of)
        perturbation = parts.perturbation
        self.perturbed = None if perturbation is None else Perturbed(perturbation, benchmark, device)
        self.room: Tensor | None = None  # memory for a task's images, reused for each task
        self.earlier = EarlierTask(image_set, self.runs, self.max_images, device, self.pixels.order)
        self._to_compile = compiled and on_cpu
        # The current task with its data, once it has begun.
        self.task: Task | None = None
        self.images = self.labels = self.offsets = torch.empty(0)

    def begin(self, task: Task, fresh: bool) -> None:
        """Copies the task's images to the device: (K, N, D) uint8, or (1, N, D) if all runs use the same images.

        N is the number of images of the largest task, so that a compiled step sees one shape.
        """
        self.task = task
        if self.room is None:
            pixels = int(np.prod(self.image_set.train_images.shape[1:]))
            self.room = room_for(self.runs, self.max_images, pixels, self.device)
        self.images, self.labels = laid_out(
            self.image_set, task.lessons, self.device, room=self.room, order=self.pixels.order
        )
        self.offsets = torch.arange(self.runs, device=self.device) * (self.max_images if len(self.images) > 1 else 0)
        self.earlier.begin(task)
        self.network.expect(task.benchmark.steps_of(task.position), task.benchmark.total_steps)
        if fresh:
            self.network.begin_task(task.position, self._coming(task))

    def advance(self, chunk: Chunk) -> Rows:
        """Takes the chunk's steps. Their measurements stay on the device until the end of the chunk.

        If the run is perturbed, the perturbation's measurements are values of the epoch that ends.
        """
        more = {} if self.perturbed is None else self.perturbed.rows(chunk)
        if self.moves is not None:
            more = {**more, MOVE: torch.from_numpy(self.moves.of(chunk).swapaxes(0, 1).copy()).to(self.device)}
        corrections = self.network.corrections(chunk.steps)
        if self.many is not None and chunk.shares is None:
            more = {**more, NUMBERS: self.many.numbers(self.network, corrections, chunk.steps)}
        tables = self._tables(chunk, {**corrections, **more})
        taken, earlier = 0, () if chunk.shares is None else (self._earlier_images(),)
        while taken < chunk.steps:
            part = self.network.due(chunk.steps - taken)
            self._take(tables, taken, part, *earlier)
            self.network.took(part)
            taken += part
        rows = self.tables.rows_of(chunk)
        if self.perturbed is None or self.task is None or not chunk.ends_epoch:
            return rows
        factor = self.perturbed.evaluation(self.perturbed.task, self.perturbed.epoch)
        accuracy = self._scored(self.task, self.network.tested, factor)
        seen = self.perturbed.look(
            self.view(self.task), {name: torch.from_numpy(value) for name, value in accuracy.items()}
        )
        return replace(rows, values={name: value.double().cpu().numpy() for name, value in seen.items()})

    def evaluate(self, task: Task) -> Evaluation:
        """Scores the task's held-out images (see `_scored`), and adds the intervention's measurements. If the benchmark
        asks for it, also a row of the task matrix.
        """
        factor = None if self.perturbed is None else self.perturbed.evaluation(task.position)
        scored = partial(self._scored, factor=factor)
        own = scored(task, self.network.tested)
        row: Evaluation = {}
        if task.benchmark.eval_matrix:
            untrained = self.network.untrained() if task.position == 0 else None
            row = row_of(task, own, scored, self.image_set, self.network.tested, untrained)
        return {**own, **row, **self.network.of_intervention()}

    def end(self, task: Task) -> None:
        """Intervention and optimizer end the task."""
        self.network.end_task(task.position, self._seen, log_likelihood)

    def state(self) -> State:
        """The network's state."""
        return self.network.state()

    def bulk(self) -> Bulk:
        """Empty: images are loaded again."""
        return {}

    def load(self, state: Mapping[str, Any], bulk: Bulk | None) -> None:
        """Restores a state of this process or of an earlier one, without modifying it."""
        self.network.load(state)

    def weights(self) -> dict[str, Tensor]:
        """The parameters on the host, name → (K, ...)."""
        return self.network.weights()

    def view(self, task: Task) -> View:
        """The view of the network. Its probe is images of the task, the same ones throughout the task."""
        x_KPD, labels_KP = self._examples(probe_of(self.labels.shape[1], self.device))
        probe = {"x": x_KPD, "labels": labels_KP, "weights": torch.ones(x_KPD.shape[1], device=self.device)}
        held_out = partial(self._held_out, task)
        view = self.network.view(self.loss_of(self.network.model), probe, held_out=held_out)
        return view if self.perturbed is None else self.perturbed.seen(view)

    def _scored(self, task: Task, parameters: Mapping[str, Tensor], factor: Tensor | None = None) -> Evaluation:
        """The "final_accuracy" (K,) of some parameters, on the task's held-out images in evaluation mode.

        factor: (), multiplies the pre-activations; None leaves them unchanged.
        """
        given, total = self._given_to_score(task, parameters)
        more = () if factor is None else (factor,)
        if self.many is not None:
            right = self.many.right(*given)
        else:
            right = sum(self.score(*given, at, there, *more) for at, there in indices(total, self.device))
        return {"final_accuracy": right.cpu().numpy() / total}

    def _given_to_score(self, task: Task, parameters: Mapping[str, Tensor]) -> tuple[Sequence[Any], int]:
        """The first arguments of `score` for some parameters, and the number of held-out images."""
        (images, labels), activation = self.to_score.laid_out(task.lessons), self.network.settings["activation"]
        return (self.to_score.reader(parameters, task.lessons), activation, images, labels), labels.shape[1]

    def _evaluation(self, task: Task) -> Sequence[Call]:
        """The functions that evaluate a task, with the arguments of a call."""
        given, total = self._given_to_score(task, self.network.tested)
        factor = None if self.perturbed is None else self.perturbed.evaluation(task.position)
        arguments = *given, *indices(total, self.device)[0], *(() if factor is None else (factor,))
        return ((self.score, lambda: arguments),)

    def _tables(self, chunk: Chunk, corrections: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """The tables that the chunk's steps read."""
        if takes_second(self.network.intervention):
            second = torch.from_numpy(aligned_batches(replace(chunk, images=self.second.of(chunk)))[0]).to(self.device)
            corrections = {**corrections, SECOND: (second + self.offsets.view(-1, 1, 1)).transpose(0, 1)}
        if chunk.shares is not None:
            corrections = {**corrections, **self.earlier.rows(chunk, chunk.shares)}
        return self.tables.of(chunk, self.labels.expand(self.runs, -1), self.offsets, corrections)

    def _moves_of(self, chunk: Chunk, batches: int) -> NDArray[np.int64]:
        return moves_of(self.stream_seeds, len(self.pixels.sources), (batches, self.tables.examples), chunk)

    def _earlier_images(self) -> Tensor:
        """The images of the task before, (R, D)."""
        return self.earlier.images

    def _take(self, tables: Mapping[str, Tensor], first: int, steps: int, *earlier: Tensor) -> None:
        """Takes the steps for some rows of the tables.  earlier: the images of the task before, in a transition."""
        train_state, settings = self.network.train_state, self.network.settings
        images, step, measured = self.images.flatten(0, 1), self.mixing if earlier else self.step, self.tables.measured
        if self.many is not None and not earlier:
            held = self.network.held()
            self.many(train_state, settings["activation"], self.keys, images, tables, measured, first, steps, held)
            return
        last = first + steps
        if self.several is not None and not earlier and steps >= several.STEPS:
            at = self.tables.count.fill_(first)
            while last - first >= several.STEPS:
                state = self.several(train_state, settings, self.keys, images, tables, measured, at)
                train_state, first = train_state._replace(state=state), first + several.STEPS
        if self._to_compile and self.task is not None and not earlier:
            given = train_state, settings, self.keys, images, tables, measured, self.tables.at[first]
            compile_together((step, lambda: given), *self._evaluation(self.task))
            self._to_compile = False
        for at in self.tables.at[first:last]:
            train_state = train_state._replace(
                state=step(train_state, settings, self.keys, images, tables, measured, at, *earlier)
            )
        self.network.kept = train_state.state

    def _many_steps(self, parts: Parts, compiled: bool, clipped: bool) -> ManySteps | None:
        """The call of our kernels that takes many steps, if these runs have one."""
        if not (self.loss_of is cross_entropy_of and compiled and parts.kernels):
            return None
        model, optimizer = self.network.model, self.network.optimizer
        kernel = kernel_of(parts, model, clipped)
        return None if kernel is None else ManySteps(kernel, model, optimizer, self.pixels, self.evaluates_by)

    def _seen(self, most: int) -> Iterable[tuple[Tensor, Tensor]]:
        """The current task's training images for an intervention: (K, E, D) floats and labels (K, E).

        Evenly spread: the first images could all belong to one class.
        """
        for at in evenly_spread(self.labels.shape[1], most, self.device).split(AT_ONCE):
            yield self._examples(at)

    def _examples(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """Some of the current task's training images: (K, E, D) floats and labels (K, E).  at (E,)."""
        x_KED = self.pixels.scaled(self.images[:, at]).expand(self.runs, -1, -1)
        return x_KED, self.labels[:, at].expand(self.runs, -1)

    def _coming(self, task: Task) -> ComingImages:
        """The task's training images, for interventions that read them before they are learned."""
        loss, seeds = self.loss_of(self.network.model), self.stream_seeds
        return ComingImages(loss, self.network, self._batch, self.labels.shape[1], seeds, task.position)

    def _batch(self, at_KB: Tensor) -> tuple[Tensor, Tensor]:
        """Training images of the current task by each run's indices: (K, B, D) floats and labels (K, B)."""
        images_KBD = self.images.flatten(0, 1)[at_KB + self.offsets[:, None]]
        return self.pixels.scaled(images_KBD), torch.gather(self.labels.expand(self.runs, -1), 1, at_KB)

    def _held_out(self, task: Task, most: int) -> Iterable[tuple[Tensor, Tensor]]:
        """A task's held-out images for a diagnostic."""
        images, labels = self.held_out.laid_out(task.lessons)
        for at in probe_of(labels.shape[1], self.device, most).split(AT_ONCE):
            yield self.pixels.scaled(images.index_select(1, at)).expand(self.runs, -1, -1), labels[:, at]
