"""Value agents learn Catch by their presets; with a target network that is never copied DQN does not."""

import numpy as np
import pytest

from launch.command import resolve
from plasticity_lab.agents.target_network import TargetNetwork
from tests.agents.value.packs import BY_KERNELS, advanced, begun, task_of
from tests.helpers.packs import needs_compiler, needs_kernels

OPTIMUM = 10.0


def scores(experiment: str, *words: str, **mode: bool) -> np.ndarray:
    """What each of the experiment's five runs, in one pack, earns in the test after its task, of the optimum's 1."""
    runs = resolve([f"experiment={experiment}", *words]).runs
    learner, chunks = begun(runs, **mode)
    advanced(learner, chunks)
    found = learner.evaluate(task_of(runs))["test_return"] / OPTIMUM
    assert found.shape == (5,)
    return found


BOARD = ("network=mlp", "network.width=64", "benchmark.environment_steps=5000")


@pytest.mark.slow
def test_five_packed_runs_learn_the_board():
    assert (scores("catch", *BOARD) >= 0.95).all()


@pytest.mark.slow
def test_with_a_target_that_is_never_copied_they_do_not(monkeypatch):
    """The values that it adds are those of first weights: nothing is learned but a ball's last step."""
    monkeypatch.setattr(TargetNetwork, "copy", lambda self, runs=None: None)
    assert scores("catch", *BOARD).mean() < 0.5


@needs_compiler
@needs_kernels
@pytest.mark.slow
@pytest.mark.parametrize("experiment", ["catch", "catch_rainbow_lite", "catch_rainbow", "catch_der"])
def test_five_packed_runs_learn_it_with_a_convolutional_encoder(experiment):
    """In the mode that `auto` takes; some two to ten CPU minutes each."""
    assert (scores(experiment, **BY_KERNELS) >= 0.95).all()
