"""What is learned from a rollout, by number: how far, in how many passes, with which rate and which count of Adam."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from plasticity_lab.agents.ppo.step import MEASURED
from plasticity_lab.assembly import assembled
from plasticity_lab.benchmarks.bodies.base import Bodies
from plasticity_lab.randomness.device import uniforms
from plasticity_lab.records.rows import Position
from tests.agents.ppo.packs import BOTH, ONE, begun, numbers, there_are
from tests.helpers.packs import CPU
from tests.tenants.packs import packs_of

ONCE = ("agent.minibatches=1", "agent.epochs=1")
SGD = ("optimizer=sgd", "optimizer.lr=0.5", "optimizer.momentum=0")
IDLE = ("intervention=shrink_and_perturb", "intervention.every=3", "intervention.strength=0", "intervention.noise=0")
KL = MEASURED.index("approx_kl")


@pytest.fixture(autouse=True)
def made_up(monkeypatch):
    there_are(monkeypatch)


def after_a_rollout(*words, rollout=0):
    """The learner after one rollout, and how far each run's parameters have gone in it."""
    learner, chunks = begun(packs_of(*ONE, "seed=0,1", *words))
    for chunk in chunks[: rollout + 1]:
        before = {name: value.clone() for name, value in learner.network.parameters.items()}
        rows = learner.advance(chunk)
    moved = {name: value - before[name] for name, value in learner.network.parameters.items()}
    return learner, moved, rows


def length(moved):
    return sum(value.double().square().flatten(1).sum(dim=1) for value in moved.values()).sqrt()


@pytest.mark.sample(2)
def test_a_run_stops_after_the_first_pass_that_has_changed_its_policy_by_more_than_target_kl():
    """Each with what it had then, moments too: what it has after that many passes without a target. How much a pass has
    changed is the mean of its last minibatch, which is measured before the update by it. An intervention that looks in
    the middle of a pass changes nothing.
    """
    rate, passes = ("optimizer.lr=0.01", *IDLE), 3
    whole, _, _ = after_a_rollout(*rate, f"agent.epochs={passes}")
    last = [4 * pass_ + 3 for pass_ in range(passes)]
    changes = whole.measured.tensor[last, KL].mean(dim=2).numpy()  # (passes, K); a minibatch of eight has no padding
    assert whole.minibatches.size == whole.minibatches.padded == 8
    by_passes = [numbers(after_a_rollout(*rate, f"agent.epochs={count}")[0]) for count in range(1, passes + 1)]
    reached = [float(value) for value in np.sort(changes.flatten())]
    stops = set()
    for target in [(low + high) / 2 for low, high in pairwise(reached)]:
        stopped = numbers(after_a_rollout(*rate, f"agent.epochs={passes}", f"agent.target_kl={target}")[0])
        for k in range(2):
            over = [at for at in range(passes) if changes[at, k] > target]
            kept = over[0] if over else passes - 1
            stops.add(kept)
            assert all(torch.equal(value[k], by_passes[kept][name][k]) for name, value in stopped.items())
    assert len(stops) > 2, "targets between all changes stop runs after several numbers of passes"


@pytest.mark.sample(2)
def test_the_entropy_weight_and_the_value_weight_scale_their_gradients():
    """One step of SGD is − lr · gradient, which is linear in both weights: w = 3 is three times as far from w = 0."""
    for setting, head in (("entropy_weight", "log_std.value"), ("value_weight", "value.weight")):
        none, one, three = (after_a_rollout(*ONCE, *SGD, f"agent.{setting}={weight}")[1] for weight in (0, 1, 3))
        for name, value in none.items():
            torch.testing.assert_close(three[name] - value, 3 * (one[name] - value), rtol=1e-3, atol=1e-5)
        assert (one[f"sliders.{head}"] != none[f"sliders.{head}"]).any()
    # The entropy of a Gaussian is Σ log_std + constant: its bonus moves every log_std by lr · weight, upwards.
    plain, bonus = (after_a_rollout(*ONCE, *SGD, f"agent.entropy_weight={weight}")[1] for weight in (0, 0.25))
    further = (bonus["sliders.log_std.value"] - plain["sliders.log_std.value"])[..., :2]
    torch.testing.assert_close(further, torch.full_like(further, 0.5 * 0.25), rtol=1e-4, atol=1e-5)


@pytest.mark.sample(2)
def test_a_runs_gradient_is_clipped_to_max_norm_over_all_its_parameters():
    _, free, _ = after_a_rollout(*ONCE, *SGD)
    norm = length(free) / 0.5
    limit = float(norm.mean())
    _, clipped, _ = after_a_rollout(*ONCE, *SGD, f"agent.max_norm={limit}")
    assert norm.min() < limit < norm.max()
    for k in range(2):
        scale = min(1.0, limit / float(norm[k]))
        for name, value in free.items():
            torch.testing.assert_close(clipped[name][k], value[k] * scale, rtol=1e-3, atol=1e-6)


def test_an_annealed_rate_falls_with_the_steps_before_the_rollout():
    """Of 96 steps in rollouts of 32: the whole rate, then two thirds of it, then one third."""
    learner, chunks = begun(packs_of(*ONE, "agent.anneal_lr=true", "optimizer.lr=0.3,0.6", "seed=0"))
    for chunk, share in zip(chunks, (1, 2 / 3, 1 / 3), strict=True):
        learner.advance(chunk)
        assert learner.network.settings["optimizer"]["lr"].tolist() == pytest.approx([0.3 * share, 0.6 * share])


@pytest.mark.parametrize(("activation", "different"), [("rrelu", 3), ("relu", 1)])
def test_a_randomised_activation_draws_anew_in_each_update(activation, different):
    """One step, learned from three times at no rate to speak of."""
    learner, _, _ = after_a_rollout(
        *(
            f"agent.{word}"
            for word in ("rollout=1", "minibatches=1", "epochs=3", "rollout_mode=eval", "advantages=none")
        ),
        *("optimizer.lr=1e-30", f"activation={activation}", "benchmark.environment_steps=4"),
    )
    losses = learner.measured.tensor[:, MEASURED.index("value_loss"), :, 0]
    assert [len(set(losses[:, k].tolist())) for k in range(2)] == [different] * 2


def test_no_two_updates_of_a_run_draw_the_same_numbers(monkeypatch):
    """They are a function of the run's key and of the updates before: two in each of three rollouts."""
    counts = []

    def counted(keys, count, numbers):
        counts.append(int(count))
        return uniforms(keys, count, numbers)

    monkeypatch.setattr("plasticity_lab.agents.update.uniforms", counted)
    after_a_rollout("activation=rrelu", "agent.epochs=1", "agent.minibatches=2", rollout=2)
    assert counts == [0, 1, 2, 3, 4, 5]


def test_rows_are_means_over_the_examples_and_the_first_kl_is_that_of_the_first_pass():
    """33 rows in minibatches of 11, stored as 12."""
    learner, _, rows = after_a_rollout(
        "agent.rollout=33", "agent.minibatches=3", "benchmark.environment_steps=99", "agent.epochs=2"
    )
    real = learner.measured.tensor[..., :11].double().mean(dim=-1).numpy()
    for at, name in enumerate(MEASURED):
        np.testing.assert_allclose(rows.updates[name], real[:, at], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(rows.updates["first_kl"], np.tile(real[:3, KL].mean(axis=0), (6, 1)), rtol=1e-6)
    assert not rows.updates["unstable"].any()


def test_a_run_whose_rollout_was_not_finite_learns_nothing_of_it_and_measures_nothing(monkeypatch):
    """Whatever its losses are: what was not finite has been made 0."""
    learner, (first, second, _) = begun(packs_of(*ONE, "seed=0,1"))
    acted = learner.actor.rollout
    learner.advance(first)
    before = numbers(learner)
    monkeypatch.setattr(learner.actor, "rollout", lambda at: replace(acted(at), finite=np.array([True, False])))
    rows = learner.advance(second)
    for name, value in numbers(learner).items():
        assert torch.equal(value[1], before[name][1])
        assert not torch.equal(value[0], before[name][0])
    assert rows.updates["unstable"].tolist() == [[0, 1]] * learner.minibatches.updates
    for name in MEASURED:
        assert np.isfinite(rows.updates[name]).tolist() == [[True, False]] * learner.minibatches.updates


@pytest.mark.sample(2)
def test_a_bodys_own_parts_count_adams_steps_by_themselves_and_go_on_when_it_comes_again():
    """Kingma & Ba, Algorithm 1: a step is lr · m / (1 − β₁ᵗ) / (√(v / (1 − β₂ᵗ)) + ε), with the moments after it.

    One update a rollout, three rollouts a task. Of the trunk t goes on over all tasks, which begin with 1, 4
    and 7. Of a body it counts the body's own: 1 and 1, and 4 where the first one comes again.
    """
    rate, epsilon = 1e-3, 1e-8
    runs = packs_of(*BOTH, *ONCE, f"optimizer.lr={rate}", f"optimizer.epsilon={epsilon}", "seed=0,1")
    learner, _ = begun(runs)
    stream, network = assembled(runs, Bodies(learner.bodies), CPU, False)[0], learner.network
    for position, body, of_trunk, of_body in ((0, "sliders", 1, 1), (1, "chosen", 4, 1), (2, "sliders", 7, 4)):
        task = stream.task(position)
        learner.begin(task, fresh=True)
        first, *others = task.chunks(Position(position, 0))
        before = {name: value.clone() for name, value in network.parameters.items()}
        learner.advance(first)
        for name, value in network.model.active(network.parameters, body).items():
            t = of_body if name.startswith(f"{body}.") else of_trunk
            m, v = (network.moments[kind][name].double() for kind in ("first", "second"))
            step = rate * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + epsilon)
            torch.testing.assert_close((before[name] - value).double(), step, rtol=1e-3, atol=1e-6)
            assert step.abs().max() > rate / 10
        for chunk in others:
            learner.advance(chunk)
        learner.end(task)
