"""Each assay against a loop of our own in plain torch: the same losses, data, order and steps."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from plasticity_lab.assays.fresh_labels import FreshLabels
from plasticity_lab.assays.next_task import NextTask
from plasticity_lab.assays.paired_offset import PairedOffset
from plasticity_lab.assays.teacher import Teacher
from plasticity_lab.assays.warm_start import WarmStart
from plasticity_lab.randomness.host import host_stream
from tests.helpers.assays import DIGITS, FEW, begun, learned, setup

MEMBERS = [FreshLabels, NextTask, WarmStart, Teacher, PairedOffset]


class Plain:
    """An MLP with two hidden layers of ReLU, and Adam as in its paper (Kingma & Ba 2015, Algorithm 1)."""

    def __init__(self, parameters, lr):
        self.parameters = {name: value.clone().requires_grad_() for name, value in parameters.items()}
        self.moments = {name: [torch.zeros_like(value)] * 2 for name, value in parameters.items()}
        self.lr, self.t = lr, 0

    def __call__(self, x):
        for layer in ("hidden1", "hidden2"):
            x = (x @ self.parameters[f"{layer}.weight"] + self.parameters[f"{layer}.bias"]).relu()
        return x @ self.parameters["output.weight"] + self.parameters["output.bias"]

    def step(self, loss):
        self.t += 1
        gradients = torch.autograd.grad(loss, list(self.parameters.values()))
        with torch.no_grad():
            for (name, value), gradient in zip(self.parameters.items(), gradients, strict=True):
                first, second = self.moments[name]
                first = 0.9 * first + 0.1 * gradient
                second = 0.999 * second + 0.001 * gradient**2
                self.moments[name] = [first, second]
                root = (second / (1 - 0.999**self.t)).sqrt() + 1e-8
                value -= self.lr * first / (1 - 0.9**self.t) / root


def layers_of(parameters, at):
    """The parameters of one copy without the columns of padding."""
    widths = {"hidden1": 13, "hidden2": 13, "output": 10}
    return {name: value[at][..., : widths[name.partition(".")[0]]] for name, value in parameters.items()}


def loss_of(network, x, labels, targets):
    if labels is not None:
        return cross_entropy(network(x), labels)
    return ((network(x) - targets) ** 2).mean(dim=1).mean()


@pytest.mark.parametrize("kind", MEMBERS, ids=lambda kind: kind.__name__)
def test_a_member_is_a_plain_loop_with_the_same_data_order_and_steps(kind):
    own = setup(kind(**FEW, lr=0.01))
    copies = begun(own)
    problem = copies.problem
    starts = {name: value.clone() for name, value in copies.network.parameters.items()}
    curves = learned(copies)
    count = problem.at.shape[1]
    for copy in range(8):
        network = Plain(layers_of(starts, copy), 0.01)
        x = problem.rows[problem.at[copy]].float()
        x = x / 255 if problem.rows.dtype == torch.uint8 else x
        labels = None if problem.labels is None else problem.labels[copy]
        targets = None if problem.targets is None else problem.targets[copy]
        seed, found, taken = copies.seeds[copy // 2], [], 0
        with torch.no_grad():
            found.append(loss_of(network, x, labels, targets).item())
        for step in range(12):
            around, within = divmod(step, count // 8)
            at = host_stream(seed, "assay order", around).permutation(count)[within * 8 : within * 8 + 8]
            chosen = (x[at], None if labels is None else labels[at], None if targets is None else targets[at])
            network.step(loss_of(network, *chosen))
            taken += 1
            if taken in copies.assay.measured_after():
                with torch.no_grad():
                    found.append(loss_of(network, x, labels, targets).item())
        np.testing.assert_allclose(curves["loss"][:, copy], found, rtol=2e-6, atol=1e-6)


def test_a_pair_has_the_same_images_labels_and_order_and_repetitions_have_others():
    copies = begun(setup(FreshLabels(**FEW)))
    problem, batches = copies.problem, copies._batches(6, 8)
    for values in (problem.at.numpy(), problem.labels.numpy(), batches):
        assert (values[::2] == values[1::2]).all(), "aged and fresh"
        assert all((values[0] != other).any() for other in values[2::2]), "repetitions and runs differ"


def test_fresh_labels_are_of_images_of_the_task_that_has_ended():
    own = setup(FreshLabels(**FEW), benchmark="labels")
    problem = begun(own).problem
    assert len(problem.rows) in (61, 122)
    assert problem.at.max() < len(problem.rows)
    assert len(set(problem.at[0].tolist())) == 30, "drawn without repetition"


def test_the_next_task_is_the_one_that_the_run_saw():
    own = setup(NextTask(**FEW | {"examples": 61}))
    copies = begun(own, position=1)
    problem, benchmark = copies.problem, own.parts.benchmark
    for run_at, seed in enumerate((0, 1)):
        lesson = benchmark.lesson(DIGITS, seed, 2)
        pixels = DIGITS.train_images.reshape(61, -1)[lesson.images][:, lesson.pixels]
        seen = {bytes(row) for row in np.column_stack([pixels, lesson.labels.astype(np.uint8)])}
        copy = run_at * 4
        made = problem.rows[problem.at[copy]].numpy()
        labels = problem.labels[copy].numpy().astype(np.uint8)
        assert {bytes(row) for row in np.column_stack([made, labels])} == seen
        tests = DIGITS.test_images.reshape(33, -1)[lesson.held_out][:, lesson.pixels]
        assert (problem.test_rows[problem.test_at[copy]].numpy() == tests).all()


def test_a_warm_start_has_all_images_with_their_true_labels_in_the_pixel_order_of_the_task():
    own = setup(WarmStart(**FEW | {"examples": 1000}), images=40)
    problem = begun(own, position=1).problem
    lesson = own.parts.benchmark.lesson(DIGITS, 0, 1)
    at = problem.at[0].numpy()
    assert sorted(at.tolist()) == list(range(61))
    made = problem.rows[problem.at[0]].numpy()
    images = host_stream(begun(own).seeds[0], "assay images").permutation(61)
    assert (made == DIGITS.train_images.reshape(61, -1)[images][:, lesson.pixels]).all()
    assert (problem.labels[0].numpy() == DIGITS.train_labels[images]).all()


def test_with_an_offset_both_networks_begin_with_the_same_loss():
    curves = learned(begun(setup(PairedOffset(**FEW, scale=2.0))))
    first = curves["loss"][0]
    np.testing.assert_allclose(first[::2], first[1::2], rtol=1e-5)
    np.testing.assert_allclose(first.mean(), 4.0, rtol=0.15)


def test_unseen_inputs_have_the_means_of_the_seen_ones():
    seen = begun(setup(Teacher(**FEW | {"examples": 61}))).problem
    unseen = begun(setup(Teacher(**FEW | {"examples": 61}, inputs="unseen"))).problem
    x = seen.rows[seen.at[0]].float() / 255
    made = unseen.rows[unseen.at[0]]
    assert made.dtype == torch.float32
    assert made.shape == x.shape
    assert (made != x).any()
    assert (made.mean(dim=0) - x.mean(dim=0)).abs().mean() < 0.1
    assert (made.std(dim=0) - x.std(dim=0)).abs().mean() < 0.1
