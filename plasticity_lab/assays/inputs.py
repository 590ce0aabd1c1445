"""Inputs without labels, for problems that regress outputs: those that the run has seen, or random ones.

Legend: K runs, R repetitions, N examples, C copies, D, O numbers of an example and of all outputs, E of one pass.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.agents.supervised.score import indices
from plasticity_lab.assays.assay import Given, Problem, joined
from plasticity_lab.assays.images import for_pairs, images_drawn, lessons_of, rows_of
from plasticity_lab.assays.step import inputs_of
from plasticity_lab.benchmarks.labelled.benchmark import LabelledBenchmark
from plasticity_lab.networks.model import Model
from plasticity_lab.randomness.host import host_stream

SEEN, UNSEEN = "seen", "unseen"


def problem_of_inputs(given: Given, kind: str, most: int) -> Problem:
    """A problem of at most `most` inputs, still without targets.

    kind: SEEN, inputs of the task that has ended; UNSEEN, normal numbers, each with the mean and the standard deviation
    of its place in the seen inputs of its run.
    """
    seen = _seen(given, most)
    if kind == SEEN:
        return seen
    x_CND = in_floats(given, seen)
    means, deviations = x_CND.mean(dim=1, keepdim=True), x_CND.std(dim=1, keepdim=True)
    size = tuple(x_CND.shape[1:])
    drawn = [host_stream(seed, "assay inputs").standard_normal(size, np.float32) for seed in given.seeds]
    rows = means + deviations * given.for_copies(torch.from_numpy(np.stack(drawn)))
    at = torch.arange(rows.shape[0] * rows.shape[1], device=given.device).view(rows.shape[:2])
    return Problem(rows.flatten(0, 1), at)


def in_floats(given: Given, problem: Problem) -> Tensor:
    """All inputs of a problem, (C, N, D) float32."""
    pixels = given.pixels if problem.rows.dtype == torch.uint8 else None
    return inputs_of(problem.rows, problem.at, pixels)


@torch.no_grad()
def outputs_on(given: Given, problem: Problem, model: Model, parameters: Mapping[str, Tensor]) -> Tensor:
    """The outputs of networks in evaluation mode on all inputs of a problem, joined, (C, N, O)."""
    total, found = problem.at.shape[1], []
    for at, _ in indices(total, given.device):
        x = in_floats(given, replace(problem, at=problem.at.index_select(1, at)))
        found.append(joined(model.forward(parameters, given.shape, x, None, given.body)[0]))
    return torch.cat(found, dim=1)[:, :total]


def _seen(given: Given, most: int) -> Problem:
    if isinstance(given.benchmark, LabelledBenchmark):
        lessons = lessons_of(given, given.position)
        rows, first = rows_of(given, lessons)
        images = images_drawn(given, len(lessons[0].images), most)
        return Problem(rows, given.for_copies(for_pairs(given, images) + first))
    x_KPD = given.probe["x"].flatten(2).float()
    drawn = images_drawn(given, x_KPD.shape[1], most)
    first = given.offsets(x_KPD.shape[1], own=True)
    return Problem(x_KPD.flatten(0, 1).to(given.device), given.for_copies(for_pairs(given, drawn) + first))
