"""hyperparams=best and =grid where a run has an intervention: Tables E9 to E11, and what is done without a row."""

import csv

import pytest

from launch.command import resolve
from launch.runs.options import CONF
from launch.runs.values.published import SAID
from tests.helpers.sweeps import said_last

STRENGTHS = {"l2_init": {1e-4, 3e-4, 1e-3}, "snr": {1e-3, 3e-3, 1e-2}, "ewc": {10, 50, 200}}


def settings(run):
    return run.science["optimizer"]["lr"], run.science["intervention"].get("strength")


def best(*words):
    return resolve(said_last("hyperparams=best", "benchmark=permuted_mnist", *words))


def grid(*words):
    return [settings(run) for run in resolve(["hyperparams=grid", "benchmark=permuted_mnist", *words]).runs]


def test_the_shape_is_that_of_table_e2_and_rate_and_strength_are_those_of_tables_e9_to_e11():
    """Leaky-ReLU on Permuted MNIST, read in the paper: 1e-3 and 1e-3, 3e-3 and 3e-3, 1e-3 and 1e3."""
    found = best("activation=leaky_relu", "intervention=none,l2_init,snr,ewc")
    runs = {run.science["intervention"]["name"]: run for run in found.runs}
    assert {run.science["activation"]["negative_slope"] for run in runs.values()} == {0.6}
    published = {"l2_init": (1e-3, 1e-3), "snr": (3e-3, 3e-3), "ewc": (1e-3, 1e3)}
    assert {name: settings(run) for name, run in runs.items()} == {"none": (1e-3, None), **published}
    doubt = "strength 1000 as printed, which is none of 10, 50, 200"
    assert [run.asked_as[0].get(SAID) for run in runs.values()] == [None, None, None, doubt]
    assert found.notes == [f"hyperparams: leaky_relu on permuted_mnist has with ewc the {doubt}."]


def test_where_nothing_is_published_the_rate_is_that_without_it_and_the_strength_is_in_the_middle():
    found = best("activation=bo_prelu,rselu", "intervention=snr", "benchmark=permuted_mnist,random_label_mnist")
    rates = {(run.science["activation"]["name"], run.science["benchmark"]["name"]): settings(run) for run in found.runs}
    assert rates["bo_prelu", "permuted_mnist"] == (1e-3, 3e-3)
    assert rates["rselu", "random_label_mnist"] == (1e-4, 3e-3)
    assert {run.asked_as[0][SAID] for run in found.runs} == {"nothing, so the learning rate without it, strength 0.003"}
    (note,) = found.notes
    assert "bo_prelu, rselu on permuted_mnist; bo_prelu, rselu on random_label_mnist with snr" in note
    assert "strength 0.003" in note


@pytest.mark.sample(2)
def test_an_intervention_of_which_nothing_is_published_keeps_its_strength_and_one_without_has_nothing_to_say():
    (other,), (fresh,) = (best(f"intervention={name}").runs for name in ("continual_backprop", "fresh_each_task"))
    assert settings(other) == (1e-3, 1e-4)
    assert other.asked_as[0][SAID] == "nothing, so the learning rate without it, strength 0.0001"
    assert {strength for _, strength in grid("intervention=continual_backprop")} == {1e-6, 1e-5, 1e-4}
    assert SAID not in fresh.asked_as[0]
    assert len(grid("intervention=fresh_each_task", "activation=swish")) == 3


def test_a_stand_in_serves_here_too_and_rates_are_for_adam():
    found = best("activation=leaky_relu", "benchmark=permuted_digits", "intervention=snr")
    assert settings(found.runs[0]) == (3e-3, 3e-3)
    sgd = best("activation=leaky_relu", "intervention=snr", "optimizer=sgd")
    assert settings(sgd.runs[0]) == (0.01, 3e-3)


@pytest.mark.sample(2)
def test_the_grid_is_of_strengths_and_rates_at_one_shape_united_with_what_is_published():
    rates = (1e-3, 3e-4, 1e-4)
    for name, strengths in STRENGTHS.items():
        runs = resolve(
            ["hyperparams=grid", "activation=leaky_relu", "benchmark=permuted_mnist", f"intervention={name}"]
        ).runs
        assert {run.science["activation"]["negative_slope"] for run in runs} == {0.6}
        published = {"l2_init": (1e-3, 1e-3), "snr": (3e-3, 3e-3), "ewc": (1e-3, 1e3)}[name]
        assert {settings(run) for run in runs} == {(rate, each) for rate in rates for each in strengths} | {published}
        assert len(runs) == (9 if name == "l2_init" else 10)


@pytest.mark.sample(2)
def test_what_is_typed_pins_its_axis():
    assert len(grid("activation=swish", "intervention=snr", "intervention.strength=0.5")) == 3
    assert len(grid("activation=celu", "intervention=snr", "optimizer.lr=0.5")) == 3
    rates = [rate for rate, _ in sorted(grid("activation=celu", "intervention=snr", "intervention.strength=0.5"))]
    assert rates == [1e-4, 3e-4, 1e-3, 1e-2], "the published rate is tried too"
    assert set(grid("intervention=ewc", "optimizer=sgd")) == {(0.01, 10), (0.01, 50), (0.01, 200)}


def test_the_strengths_are_the_published_ones():
    with (CONF / "published" / "best_with_interventions.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 17 * 5 * 3
    for name, strengths in STRENGTHS.items():
        printed = {float(line["strength"]) for line in lines if line["intervention"] == name}
        assert printed == strengths | ({1000} if name == "ewc" else set())
