"""Schedules of the learning rate: the factors by hand, beside PyTorch's, and their place in ids."""

from math import cos, pi

import pytest
import torch

from plasticity_lab import component
from plasticity_lab.errors import ConfigError
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.run_axis import on_run_axis
from plasticity_lab.stacking.schedule import Schedule
from tests.helpers.packs import choice, choices


def of(*settings: dict) -> Schedule:
    return Schedule([Adam(**each) for each in settings])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"warmup": 0.2}, [0.5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
        ({"warmup": 0.25}, [0.4, 0.8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]),
        ({"schedule": "linear"}, [1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0, 0]),
        ({"schedule": "linear", "final": 0.5}, [1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.5]),
        (
            {"schedule": "cosine", "warmup": 0.2, "final": 0.1},
            [0.5, 1, *(0.1 + 0.9 * (1 + cos(pi * i / 8)) / 2 for i in range(9)), 0.1],
        ),
    ],
)
def test_twelve_updates_in_a_period_of_ten_by_hand(settings, expected):
    schedule = of(settings, {**settings, "warmup": 0.0, "schedule": settings.get("schedule", "constant"), "final": 1.0})
    assert schedule.active
    factors = schedule.factors(0, 12, 10)
    assert factors[:, 0].tolist() == pytest.approx(expected)
    assert factors[:, 1].tolist() == [1.0] * 12  # a final rate of 1 without a warm-up is the plain rate, bit for bit
    assert torch.equal(schedule.factors(5, 4, 10), factors[5:9])


def test_pytorch_computes_the_same_decays():
    parameter = torch.nn.Parameter(torch.zeros(1))
    for settings, made in (
        ({"schedule": "cosine", "final": 0.1}, lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 20, 0.1)),
        ({"schedule": "linear", "final": 0.1}, lambda o: torch.optim.lr_scheduler.LinearLR(o, 1.0, 0.1, 20)),
        ({"warmup": 0.5}, lambda o: torch.optim.lr_scheduler.LinearLR(o, 0.1, 1.0, 9)),
    ):
        optimizer = torch.optim.SGD([parameter], lr=1.0)
        scheduler, rates = made(optimizer), []
        for _ in range(20):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        assert of(settings).factors(0, 20, 20)[:, 0].tolist() == pytest.approx(rates)


def test_a_constant_rate_is_no_schedule_and_has_the_id_of_before():
    assert not of({}, {"schedule_by": "run", "final": 0.5}).active
    assert of({}, {"warmup": 0.1}).active
    assert on_run_axis([Adam(warmup=0.1, final=0.2)]).keys() == {"lr", "beta1", "beta2", "epsilon"}
    plain, same = {"lr": 0.1}, {"lr": 0.1, "schedule": "constant", "schedule_by": "run", "warmup": 0.0, "final": 0.3}
    assert Adam.canonical(same) == plain
    assert Adam.canonical({**same, "warmup": 0.1}) == {"lr": 0.1, "warmup": 0.1, "schedule_by": "run"}
    assert Adam.canonical({**same, "schedule": "linear"}) == {
        "lr": 0.1, "schedule": "linear", "schedule_by": "run", "final": 0.3
    }  # fmt: skip


@pytest.mark.parametrize("name", choices("optimizer"))
@pytest.mark.parametrize("bad", [{"schedule": "step"}, {"schedule_by": "epoch"}, {"warmup": 1.0}, {"final": 1.5}])
def test_every_optimizer_has_one_and_refuses_what_is_out_of_range(name, bad):
    target, settings = choice("optimizer", name)
    made = component.build("optimizer", name, target, settings | {"schedule": "linear", "warmup": 0.5, "final": 0.25})
    assert (made.schedule, made.warmup, made.final) == ("linear", 0.5, 0.25)
    with pytest.raises(ConfigError, match=rf"optimizer\.{next(iter(bad))} "):
        component.build("optimizer", name, target, settings | bad)


@pytest.mark.parametrize("name", choices("optimizer"))
def test_the_corrections_that_contain_the_rate_are_named(name):
    target, settings = choice("optimizer", name)
    one, two = (component.build("optimizer", name, target, settings | {"lr": lr}) for lr in (0.25, 0.5))
    rows, doubled = (each.corrections(on_run_axis([each], dtype=torch.float64), 1, 3) for each in (one, two))
    assert {key for key in rows if not torch.equal(rows[key], doubled[key])} == set(one.of_rate)
    assert all(torch.equal(2 * rows[key], doubled[key]) for key in one.of_rate)
