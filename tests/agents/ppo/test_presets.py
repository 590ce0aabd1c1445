"""The presets of continual reinforcement learning: which runs they name, and that they train, all three cycles."""

import pytest

from launch.command import resolve
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.stage_returns import stage_returns
from plasticity_lab.records.store import Store
from tests.agents.ppo.test_hyperparams import TABLE_F1
from tests.helpers.sweeps import trained

ALL = ("tableF1", "tableF2", "tableF3", "figure6", "figureF1")
TINY = (
    *("agent.rollout=32", "agent.minibatches=4", "agent.epochs=1", "network.width=16"),
    *("benchmark.environment_steps=64", "benchmark.tasks=12", "benchmark.test_episodes=0"),
)


def runs_of(name, *words):
    return resolve([f"experiment={name}", *words]).runs


def test_the_tables_of_appendix_f_are_made_of_one_set_of_runs():
    ids = {frozenset(run.id for run in runs_of(name)) for name in ALL}
    (of_all,) = ids
    assert len(of_all) == 17 * 5
    activations = {run.science["activation"]["name"] for run in runs_of("tableF1", "seed=0")}
    assert activations == {row["activation"] for row in TABLE_F1}
    best = {frozenset(run.id for run in runs_of(name)) for name in ("table3", "table4")}
    (of_five,) = best
    assert len(of_five) == 5 * 5
    assert of_five < of_all


@pytest.mark.parametrize("schedule", ["smoke", "demo"])
def test_shorter_schedules_shorten_stages_and_tests(schedule):
    for name in (*ALL, "table3", "table4"):
        (benchmark,) = {
            tuple(run.science["benchmark"][key] for key in ("environment_steps", "test_episodes", "test_factors"))
            for run in runs_of(name, f"schedule={schedule}", "seed=0", "activation=relu")
        }
        assert benchmark == {"smoke": (4096, 1, 2), "demo": (20000, 1, 3)}[schedule]


def test_a_preset_trains_all_three_cycles_and_each_stage_has_its_returns(tmp_path):
    store = Store(tmp_path / "store")
    plan = trained(store, "experiment=tableF1", "activation=sigmoid,prelu", "seed=0", "protocol=clean", *TINY)
    for run in plan.asked:
        assert read_record(store, run)["status"] == "done"
        stages = stage_returns(read_metrics(store, run))
        assert [(stage.body, stage.cycle) for stage in stages] == [(at % 4, at // 4) for at in range(12)]
