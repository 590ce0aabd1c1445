"""Published settings and grids of PPO on bodies: Table F1, and Table B1 with what Appendix B.4 adds."""

import csv
import json

import pytest

from analysis.reported import FOLDER
from launch.command import resolve
from launch.runs.values.published import PublishedValues
from plasticity_lab.errors import ConfigError

TABLE_F1 = list(csv.DictReader((FOLDER / "tableF1_plasticity_score.csv").read_text().splitlines()))
CYCLE = ("benchmark=mujoco_cycle", "seed=0")
LACKING = ("bo_prelu", "rselu")


def asked(*words):
    return resolve([*CYCLE, *words])


def test_best_is_table_f1():
    runs = {run.science["activation"]["name"]: run for run in asked("activation=glob(*)", "hyperparams=best").runs}
    for row in TABLE_F1:
        science = runs[row["activation"]].science
        assert science["optimizer"]["lr"] == float(row["lr"]), row
        printed = json.loads(row["hyperparameters"])
        assert {name: science["activation"][name] for name in printed} == printed
    assert set(runs) == {row["activation"] for row in TABLE_F1} | {*LACKING, "aid", "hadamard"}


@pytest.mark.sample(1)
def test_what_table_f1_lacks_has_its_defaults_and_the_record_says_so():
    found = asked("activation=bo_prelu,rselu,relu", "hyperparams=best")
    plain = {run.id for run in asked("activation=bo_prelu,rselu").runs}
    for run in found.runs:
        name = run.science["activation"]["name"]
        said = run.asked_as[0].get("published")
        assert said == ("nothing, so defaults" if name in LACKING else None)
        assert run.science["optimizer"]["lr"] == 1e-4
        assert (run.id in plain) == (name in LACKING)
    assert (
        "hyperparams: nothing is published for bo_prelu, rselu on mujoco_cycle; their defaults are used." in found.notes
    )


@pytest.mark.parametrize("benchmark", ["mujoco_cycle_text", "slippery_ant", "mujoco", "classic_cycle"])
def test_other_benchmarks_of_bodies_take_what_is_published_of_the_cycle(benchmark):
    found = resolve([f"benchmark={benchmark}", "activation=tanh", "hyperparams=best"])
    assert found.runs[0].science["optimizer"]["lr"] == 1e-5
    assert f"hyperparams: published values of another benchmark are used: mujoco_cycle for {benchmark}." in found.notes


@pytest.mark.parametrize(
    ("activation", "settings"), [("relu", 1), ("rrelu", 20), ("prelu", 15), ("gelu", 33), ("smooth_leaky", 49 * 7)]
)
def test_the_grid_is_the_papers_shapes_times_four_learning_rates(activation, settings):
    runs = asked(f"activation={activation}", "hyperparams=grid").runs
    assert len(runs) == 4 * settings
    assert {run.science["optimizer"]["lr"] for run in runs} == {1e-3, 3e-4, 1e-4, 1e-5}


@pytest.mark.slow
@pytest.mark.sample(1)
def test_the_grid_tries_what_table_f1_found():
    printed = ",".join(row["activation"] for row in TABLE_F1)
    best, grid = (
        {run.id for run in asked(f"activation={printed}", f"hyperparams={each}").runs} for each in ("best", "grid")
    )
    assert len(best) == 17
    assert best <= grid


def test_tables_that_both_have_a_place_are_refused(tmp_path):
    (tmp_path / "one.csv").write_text("benchmark,activation,lr,hyperparameters\nmujoco_cycle,relu,0.1,{}\n")
    with pytest.raises(ConfigError, match=r"relu on mujoco_cycle.*one\.csv"):
        PublishedValues().rows_of(["best_ppo.csv", str(tmp_path / "one.csv")])
