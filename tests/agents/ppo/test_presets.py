"""The presets of continual reinforcement learning: which runs they name, and that they train, all three cycles."""

import math
from dataclasses import replace

import pytest

from analysis.__main__ import main as analysis
from launch.command import resolve
from launch.work import claiming
from plasticity_lab.environments.bodies import BODIES
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.stage_returns import stage_returns
from plasticity_lab.records.store import Store
from tests.agents.ppo.test_hyperparams import TABLE_F1
from tests.helpers.made_up_bodies import SLIDERS
from tests.helpers.sweeps import trained

pytestmark = pytest.mark.sample(2)

ALL = ("table3", "tableF1", "tableF2", "tableF3", "figure6", "figureF1")
TINY = (
    *("agent.rollout=64", "agent.minibatches=4", "agent.epochs=1", "network.width=16"),
    *("benchmark.tasks=12", "benchmark.environment_steps=128"),
)


def runs_of(name, *words):
    return resolve([f"experiment={name}", *words]).runs


def test_the_tables_of_appendix_f_are_made_of_one_set_of_runs():
    all_seeds = runs_of("tableF1")
    assert len(all_seeds) == 17 * 5
    assert {run.science["activation"]["name"] for run in all_seeds} == {row["activation"] for row in TABLE_F1}
    (of_all,) = {frozenset(run.id for run in runs_of(name, "seed=0")) for name in ALL}
    of_five = {run.id for run in runs_of("table4", "seed=0")}
    assert len(of_five) == 5
    assert of_five < of_all < {run.id for run in all_seeds}


@pytest.mark.parametrize("schedule", ["smoke", "demo"])
def test_shorter_schedules_shorten_stages_and_tests(schedule):
    for name in ("tableF1", "table3"):
        (benchmark,) = {
            tuple(run.science["benchmark"][key] for key in ("environment_steps", "test_episodes", "test_factors"))
            for run in runs_of(name, f"schedule={schedule}", "seed=0", "activation=relu")
        }
        assert benchmark == {"smoke": (4096, 1, 2), "demo": (20000, 1, 3)}[schedule]


@pytest.fixture(scope="module")
def three_cycles(tmp_path_factory):
    """Two activations and three seeds through all cycles; sliders stand for the bodies, which take long to step."""
    store = Store(tmp_path_factory.mktemp("cycles") / "store")
    claiming._resources.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("halfcheetah", "humanoid", "ant", "hopper"):
            patch.setitem(BODIES, name, replace(SLIDERS, name=name))
        plan = trained(store, "experiment=tableF1", "activation=sigmoid,prelu", "seed=0,1,2", *TINY)
    claiming._resources.cache_clear()
    return store, plan


def test_a_preset_trains_all_three_cycles_and_each_stage_has_its_returns(three_cycles):
    store, plan = three_cycles
    for run in plan.asked:
        assert read_record(store, run)["status"] == "done"
        stages = stage_returns(read_metrics(store, run))
        assert all(math.isfinite(stage.train + stage.test) for stage in stages)
        assert [(stage.body, stage.cycle) for stage in stages] == [(at % 4, at // 4) for at in range(12)]


@pytest.mark.parametrize("name", ["table3", "table4", "tableF1", "tableF2", "tableF3"])
def test_the_tables_are_made_of_their_records_beside_the_papers_numbers(three_cycles, name, capsys):
    store, _ = three_cycles
    assert analysis(["table", name, "--store", str(store.root)]) == 0
    out = capsys.readouterr().out
    for activation in ("Sigmoid", "PReLU"):
        (line,) = (line for line in out.splitlines() if line.strip().startswith(activation))
        assert "–" not in line.split()[1], "there is a number of ours"
