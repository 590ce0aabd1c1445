"""The copies of networks in training: one pack of aged and fresh networks that learn the same problems.

Legend: K runs, R repetitions, C copies (K·R·2), P points of a curve, S steps of a chunk, B examples of a batch, N
examples of a problem, M test examples, E examples of one forward pass, D, O numbers of an example and of all outputs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.agents.compiled import Compiled
from plasticity_lab.agents.optimizer_step import OF_CHANGE
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.supervised.images import Pixels
from plasticity_lab.agents.supervised.score import AT_ONCE, indices
from plasticity_lab.assays.assay import BRANCHES, Assay, Given, Problem
from plasticity_lab.assays.step import LABELS, READS, TARGETS, example_loss, inputs_of, step_of
from plasticity_lab.interventions.none import NoIntervention
from plasticity_lab.networks.model import Model
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.run_axis import aligned

Tensors = Mapping[str, Tensor]
Moments = Mapping[str, Tensors]


def parts_of_copies(assay: Assay, parts: Parts[Any], seeds: Sequence[int]) -> Parts[Any]:
    """The components of the copies, from the components of K runs.  seeds (K·R): the fresh networks'."""
    found = repeated(parts, assay.repetitions * len(BRANCHES))
    components, count = dict(found.components), len(found.init_seeds)
    if assay.optimizer == "adam":
        components["optimizer"] = [Adam(lr=assay.lr)] * count
    if assay.intervention == "none":
        components["intervention"] = [NoIntervention()] * count
    own = [seed for seed in parts.init_seeds for _ in range(assay.repetitions)]
    # An aged network starts from the run's own first weights, which its intervention may remember.
    first = [seed for pair in zip(own, seeds, strict=True) for seed in pair]
    words = (assay.optimizer, assay.intervention)
    structure = f"{parts.structure}, copies in an assay {words}"
    return replace(found, components=components, init_seeds=first, structure=structure)


def repeated(parts: Parts[Any], times: int) -> Parts[Any]:
    """The components of K runs, each repeated `times` times in a row."""
    components = {group: [each for each in own for _ in range(times)] for group, own in parts.components.items()}
    streams, inits = (
        [seed for seed in seeds for _ in range(times)] for seeds in (parts.stream_seeds, parts.init_seeds)
    )
    return replace(parts, components=components, stream_seeds=streams, init_seeds=inits)


def seeds_of(assay: Assay, parts: Parts[Any], position: int) -> list[int]:
    """A seed for each run and repetition at the end of a task, (K·R)."""
    return [
        int(host_stream(seed, "assay", position, repetition).integers(2**31))
        for seed in parts.init_seeds
        for repetition in range(assay.repetitions)
    ]


class Copies:
    """The copies of the networks of K runs at the end of one task, while they learn.

    parts, model: the copies' (see `parts_of_copies`). aged: the parameters of the K runs at the task's end, name → (K,
    ...). seeds (K·R): see `seeds_of`. moments, counts: the moments of the K runs and their numbers of updates since
    they began, if the aged copies go on with them.
    curves: name → (P, C) float64, measured so far: "loss", "accuracy" of problems with labels, "test_accuracy".
    taken: steps so far.
    """

    def __init__(
        self,
        assay: Assay,
        parts: Parts[Any],
        model: Model,
        aged: Tensors,
        seeds: Sequence[int],
        device: torch.device,
        body: str | None = None,
        moments: Moments | None = None,
        counts: Sequence[int] = (),
    ) -> None:
        self.assay, self.model, self.device, self.body, self.seeds = assay, model, device, body, list(seeds)
        self.copies, self.taken = len(parts.init_seeds), 0
        self.network = network = PackedNetwork(parts, model, device)
        network.body = body
        # The pair shares all random numbers of its training.
        network.seeds = [seed for seed in seeds for _ in BRANCHES]
        network.keys = network.keys_of("intervention")
        self.keys = network.step_keys
        copies = assay.repetitions * len(BRANCHES)
        for name, value in network.parameters.items():
            value[:: len(BRANCHES)] = aged[name].to(device).repeat_interleave(assay.repetitions, dim=0)
        if assay.head == "fresh":
            layers = set(model.design.outputs.values())
            for name in (each for each in network.parameters if each.rpartition(".")[0] in layers):
                network.parameters[name][:: len(BRANCHES)] = network.parameters[name][1 :: len(BRANCHES)]
        for kind, values in (moments or {}).items():
            for name, value in values.items():
                network.moments[kind][name][:: len(BRANCHES)] = value.to(device).repeat_interleave(
                    assay.repetitions, dim=0
                )
        before = [count if at % 2 == 0 else 0 for count in counts for at in range(copies)]
        self.counts = before or [0] * self.copies
        self.curves: dict[str, list[np.ndarray]] = {}

    def given(self, parts: Parts[Any], resource: Any, position: int, pixels: Pixels | None, **more: Any) -> Given:
        """The material for the assay's problem.  parts: the K runs'. more: further fields of `Given`."""
        shape = self.network.settings["activation"]
        return Given(
            parts, resource, position, self.seeds, self.model, self.network.parameters, shape, self.assay.repetitions,
            pixels, body=self.body, device=self.device, **more,
        )  # fmt: skip

    def face(self, problem: Problem, pixels: Pixels | None, compiled: bool, kernels: bool, same: Sequence[str]) -> None:
        """Prepares the training on a problem.  same: words that determine the step's function besides the model."""
        network = self.network
        self.problem, self.pixels = problem, pixels
        step = step_of(self.model, network.optimizer, network.intervention, pixels, self.body, kernels)
        words = ("assay step", *same, self.model.structure_key, str(problem.labels is None), str(self.body))
        self.step = Compiled(step, words, reads=READS) if compiled else step
        self.examples = aligned(min(self.assay.batch_size, problem.at.shape[1]))
        if problem.targets is None:
            self.targets = torch.zeros(1, 1, device=self.device)
        else:
            self.targets = problem.targets.flatten(0, 1)
        self.most = int(max(np.diff(self.assay.measured_after())))
        shape = self.most, self.copies, self.examples
        self.measured = {"loss": torch.zeros(shape, device=self.device)}
        self.at = [torch.tensor([row], device=self.device) for row in range(self.most)]

    def measure(self) -> None:
        """Adds a point to the curves: losses and accuracies in evaluation mode."""
        problem = self.problem
        loss_CN, right_CN = self._passed(problem.rows, problem.at, problem.labels, problem.targets)
        self._add("loss", loss_CN.mean(axis=1))
        if right_CN is not None:
            self._add("accuracy", right_CN.mean(axis=1))
        if problem.test_at is not None and problem.test_rows is not None:
            _, right_CM = self._passed(problem.test_rows, problem.test_at, problem.test_labels, None)
            assert right_CM is not None
            self._add("test_accuracy", right_CM.mean(axis=1))

    def train(self, steps: int) -> np.ndarray:
        """Takes steps; returns the mean loss of each, (steps, C), before its update."""
        network, tables = self.network, self._tables(steps)
        for at in range(steps):
            network.kept = self.step(
                network.train_state, network.settings, self.keys, self.problem.rows, self.targets, tables,
                self.measured, self.at[at],
            )  # fmt: skip
            network.took(1)
        self.taken += steps
        shown = min(self.assay.batch_size, self.problem.at.shape[1])
        return self.measured["loss"][:steps, :, :shown].double().cpu().numpy().mean(axis=2)

    def state(self) -> dict[str, Any]:
        """The state that `load` needs to continue bit for bit."""
        curves = {name: torch.from_numpy(np.array(points)) for name, points in self.curves.items()}
        return {"network": self.network.state(), "curves": curves, "taken": self.taken}

    def load(self, state: Mapping[str, Any]) -> None:
        """Restores a state without modifying it."""
        self.network.load(state["network"])
        self.curves = {name: list(points.numpy()) for name, points in state["curves"].items()}
        self.taken = int(state["taken"])

    def _add(self, name: str, values_C: np.ndarray) -> None:
        self.curves.setdefault(name, []).append(values_C)

    def _tables(self, steps: int) -> dict[str, Tensor]:
        """The tables of the next steps, with `most` rows."""
        problem, size = self.problem, min(self.assay.batch_size, self.problem.at.shape[1])
        at_CSB = torch.from_numpy(self._batches(steps, size)).to(self.device)

        def taken(values_CN: Tensor) -> Tensor:
            found = torch.gather(values_CN, 1, at_CSB.flatten(1)).view_as(at_CSB)
            return found.transpose(0, 1)

        weights = torch.zeros(steps, self.examples, device=self.device)
        weights[:, :size] = 1 / size
        tables = {
            "rows": taken(problem.at),
            "weights": weights,
            "position": torch.arange(self.taken, self.taken + steps, device=self.device),
            **self._corrections(steps),
        }
        if problem.labels is not None:
            tables[LABELS] = taken(problem.labels)
        else:
            examples = problem.at.shape[1]
            first = torch.arange(self.copies, device=self.device).view(-1, 1, 1) * examples
            tables[TARGETS] = (at_CSB + first).transpose(0, 1)
        return {name: self._filled(values) for name, values in tables.items()}

    def _corrections(self, steps: int) -> dict[str, Tensor]:
        """The optimizer's corrections of the next steps; the aged copies with kept moments continue their counts."""
        network = self.network
        found = network.corrections(steps)
        if self.model.restarted:  # parameters that a change of the network began again: here they learn as all others
            found |= {f"{OF_CHANGE}{name}": row for name, row in found.items()}
        if not any(self.counts):
            return found
        settings, counts = network.settings["optimizer"], torch.tensor(self.counts, device=self.device)
        each = {name: (row if row.dim() > 1 else row.unsqueeze(1)).expand(-1, self.copies).clone()
                for name, row in found.items()}  # fmt: skip
        for count in sorted(set(self.counts) - {0}):
            for name, row in network.optimizer.corrections(settings, count + self.taken + 1, steps).items():
                own = (row if row.dim() > 1 else row.unsqueeze(1)).expand(-1, self.copies)
                each[name] = torch.where(counts == count, own, each[name])
        return each

    def _filled(self, values: Tensor) -> Tensor:
        """(steps, ...) → (most, ...), filled with zeros, so that a compiled step sees one shape."""
        full = torch.zeros((self.most, *values.shape[1:]), dtype=values.dtype, device=self.device)
        full[: len(values)] = values
        return full

    def _batches(self, steps: int, size: int) -> np.ndarray:
        """The examples of the next steps, (C, steps, B): a new order in each pass, the same for a pair. An incomplete
        last batch of a pass is left out.
        """
        examples = self.problem.at.shape[1]
        each = examples // size
        found = np.zeros((self.copies, steps, self.examples), np.int64)
        for pair, seed in enumerate(self.seeds):
            order, known = np.zeros(0, np.int64), -1
            for step in range(steps):
                around, within = divmod(self.taken + step, each)
                if around != known:
                    known, order = around, host_stream(seed, "assay order", around).permutation(examples)
                found[2 * pair : 2 * pair + 2, step, :size] = order[within * size : (within + 1) * size]
        return found

    @torch.no_grad()
    def _passed(
        self, rows: Tensor, at_CN: Tensor, labels_CN: Tensor | None, targets_CNO: Tensor | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """The loss of each example (C, N) in evaluation mode, and whether it is classified correctly; None without
        labels.
        """
        network, total = self.network, at_CN.shape[1]
        losses, rights = [], []
        for at, _ in indices(total, self.device):
            x = inputs_of(rows, at_CN.index_select(1, at), self.pixels)
            outputs, _ = self.model.forward(network.parameters, network.settings["activation"], x, None, self.body)
            if labels_CN is None:
                assert targets_CNO is not None
                batch = {TARGETS: targets_CNO.index_select(1, at)}
            else:
                batch = {LABELS: labels_CN.index_select(1, at)}
                rights.append((outputs["logits"].argmax(dim=-1) == batch[LABELS]).cpu().numpy())
            losses.append(example_loss(outputs, batch).double().cpu().numpy())
        assert sum(each.shape[1] for each in losses) % AT_ONCE == 0
        right = np.concatenate(rights, axis=1)[:, :total] if rights else None
        return np.concatenate(losses, axis=1)[:, :total], right
