"""Hare and Tortoise: average and returns by hand, which of the two is tested, and packs of several strengths."""

import pytest
import torch

from plasticity_lab.assembly import assembled, cost_of
from plasticity_lab.component import build
from plasticity_lab.interventions.hare_tortoise import SLOW, HareTortoise
from plasticity_lab.interventions.intervention import Composed
from plasticity_lab.interventions.none import NoIntervention
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.mlp import MLP
from plasticity_lab.records.rows import Position
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.networks import classifier
from tests.helpers.packs import CPU, choice, differing, images, run, trained

CLASS, SETTINGS = choice("intervention", "hare_tortoise")
IMAGES = images(8, 64, 20)
STREAM = {"images": 64, "tasks": 2, "epochs": 2}
THREE = torch.arange(3.0)


def begun(pack):
    """Runs with networks of two layers of three units, at birth: the situation."""
    activation = build("activation", "prelu", *choice("activation", "prelu"))
    model = classifier(MLP(width=3), [activation] * len(pack), (1, 8, 8), 10)
    seeds = list(range(len(pack)))
    now = Now(model, model.start(seeds, CPU), on_run_axis(pack), {}, seeds=seeds)
    return now._replace(state=pack[0].start(now))


def updated(hare, now, count):
    """After an update that adds 1 to each parameter."""
    for value in now.parameters.values():
        value.add_(1.0)
    now = now._replace(state=hare.after_step(now._replace(count=torch.tensor(count))))
    return now._replace(state=hare.every_n_updates(now._replace(updates=count + 1)))


def test_the_average_and_a_return_after_two_updates_by_hand():
    """θ − θ₀ is 1, then 2. At ½ s − θ₀ is ½, then ½ · ½ + ½ · 2 = 1¼, and the hare gets it. At 0 s is θ, at 1 θ₀."""
    pack = [HareTortoise(strength, every=2) for strength in (0.0, 0.5, 1.0)]
    now = begun(pack)
    born = {name: value.clone() for name, value in now.parameters.items()}
    now = updated(pack[0], now, 0)
    for name, first in born.items():
        for k, slow in enumerate((1.0, 0.5, 0.0)):
            torch.testing.assert_close(now.state[f"{SLOW}{name}"][k], first[k] + slow)
            torch.testing.assert_close(now.parameters[name][k], first[k] + 1)
    now = updated(pack[0], now, 1)
    for name, first in born.items():
        for k, slow in enumerate((2.0, 1.25, 0.0)):
            torch.testing.assert_close(now.state[f"{SLOW}{name}"][k], first[k] + slow)
        assert torch.equal(now.parameters[name], now.state[f"{SLOW}{name}"])
        assert now.parameters[name] is not now.state[f"{SLOW}{name}"]


@pytest.mark.parametrize(
    ("settings", "returns"),
    [
        ({"every": 3}, [2, 5]),
        ({"every": 3, "first": 1}, [0, 3, 6]),
        ({"every": 2, "first": 5}, [4, 6]),
        ({"every": 4, "first": 6}, [5]),
    ],
)
def test_when_the_hare_returns(settings, returns):
    hare = HareTortoise(0.5, **settings)
    now, found = begun([hare]), []
    assert hare.first_after() == ({"first": settings["first"]} if "first" in settings else {"every": 3})
    for count in range(8):
        now = updated(hare, now, count)
        if all(torch.equal(value, now.state[f"{SLOW}{name}"]) for name, value in now.parameters.items()):
            found.append(count)
    assert found == returns
    assert all((count + 1) % hare.every == 0 for count in found)


def test_shared_memory_moves_both_at_the_first_update_after_a_return():
    """As in the authors' code: s is θ after that update; without, ½ of the way."""
    for shared, expected in ((True, 1.0), (False, 0.5)):
        hare = HareTortoise(0.5, every=2, shared=shared)
        now = updated(hare, updated(hare, begun([hare]), 0), 1)
        before = now.parameters["output.bias"].clone()
        now = updated(hare, now, 2)
        torch.testing.assert_close(now.state[f"{SLOW}output.bias"], before + expected)


def test_the_tortoise_is_tested_unless_the_hare_is_to_be():
    slow = {f"{SLOW}a": THREE}
    assert torch.equal(HareTortoise().tested({"a": -THREE}, slow)["a"], THREE)
    assert torch.equal(HareTortoise(evaluated="hare").tested({"a": -THREE}, slow)["a"], -THREE)
    both = Composed({"none": NoIntervention(), "hare_tortoise": HareTortoise()})
    assert torch.equal(both.tested({"a": -THREE}, {f"hare_tortoise.{SLOW}a": THREE})["a"], THREE)
    accuracies = {}
    for evaluated in ("tortoise", "hare"):
        its = (CLASS, SETTINGS | {"strength": 1.0, "every": None, "evaluated": evaluated})
        stream, learner = assembled([run(1, intervention=its, **STREAM)], IMAGES, CPU, False)
        task = stream.task(0)
        learner.begin(task, fresh=True)
        born = learner.evaluate(task)["final_accuracy"]
        for chunk in task.chunks(Position(0, 0)):
            learner.advance(chunk)
        accuracies[evaluated] = born, learner.evaluate(task)["final_accuracy"]
    assert accuracies["tortoise"][0] == accuracies["tortoise"][1]  # strength 1: always as at birth
    assert accuracies["hare"][0] != accuracies["hare"][1]


def test_strength_zero_is_the_plain_run_in_a_pack_of_several_killed_and_resumed():
    runs = [
        run(
            seed, "prelu", network={"width": 13}, optimizer={"lr": 1e-3 * seed},
            intervention=(CLASS, SETTINGS | {"strength": share, "every": 3, "first": 2, "shared": True}), **STREAM,
        )
        for seed, share in ((1, 0.0), (2, 0.5), (3, 0.9))
    ]  # fmt: skip
    packed, resumed = trained(runs, IMAGES), trained(runs, IMAGES, stops=[1, 2])
    assert not differing(packed.of(0), trained([run(1, "prelu", network={"width": 13}, **STREAM)], IMAGES).of(0))
    for k in (1, 2):
        assert not differing(packed.of(k), trained(runs[k : k + 1], IMAGES).of(0))
        assert not differing(packed.of(k), resumed.of(k))
    kept = packed.agent.network.kept
    assert not any(kept[f"{SLOW}output.{part}"][..., 10:].any() for part in ("weight", "bias"))


def test_plans_price_its_copy_and_its_average():
    hare, without = run(0, intervention=(CLASS, SETTINGS), **STREAM), run(0, **STREAM)
    cost, plain = cost_of(hare, IMAGES), cost_of(without, IMAGES)
    assert cost.flops == plain.flops + HareTortoise.operations * plain.parameters
    assert cost.device_bytes >= plain.device_bytes
