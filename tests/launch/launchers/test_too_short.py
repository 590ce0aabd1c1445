"""Agents that never learn, and interventions whose first time never comes, are named before anything is trained."""

import pytest

from launch.launchers.prepare import too_short
from plasticity_lab import assembly
from plasticity_lab.data.folder import data_folder
from tests.helpers.sweeps import runs_of

EXPERTS = " agent=rainbow benchmark=games head=softmoe head.experts=4"


@pytest.mark.parametrize(
    ("words", "updates", "said"),
    [
        ("intervention=redo intervention.every=50", 49, "every=50 comes after the 49 updates of a run of permuted"),
        ("intervention=redo intervention.every=50", 50, None),
        ("intervention=[l2,redo] intervention.redo.every=50", 49, "intervention.redo.every=50 comes after the 49"),
        (f"intervention=prune_experts intervention.first=10{EXPERTS}", 9, "intervention.first=10 comes after the 9"),
        (f"intervention=prune_experts intervention.first=5 intervention.apart=9{EXPERTS}", 5, None),
        ("intervention=shrink_and_perturb", 1, None),
        ("intervention=none", 1, None),
    ],
)
def test_what_comes_after_the_end_is_said_with_what_would_be_right(words, updates, said):
    (run,) = runs_of(*words.split())
    lines = too_short([(run, updates), (run, updates)])
    assert len(lines) == (said is not None)
    assert said is None or (said in lines[0] and f"choose {updates:,} or less" in lines[0])


@pytest.mark.parametrize(
    ("words", "right"),
    [
        ("agent=sac benchmark=mujoco benchmark.bodies=[hopper] agent.min_history=600", "min_history below 600"),
        ("intervention=redo", "choose a longer run."),
    ],
)
def test_a_run_without_an_update_learns_nothing(words, right):
    (run,) = runs_of(*words.split())
    (line,) = too_short([(run, 0)])
    assert "makes no update" in line
    assert right in line


@pytest.mark.parametrize("name", ["fresh_each_task", "ewc", "shrink_and_perturb", "[fresh_each_task,ewc]"])
def test_what_is_done_between_tasks_needs_two(name):
    runs = [
        *runs_of(f"intervention={name}", "benchmark.tasks=1,2"),
        *runs_of("intervention=[l2,ewc]", "benchmark.tasks=1"),
    ]
    said = {(run.name("intervention"), run.science["benchmark"]["tasks"]): too_short([(run, 1)]) for run in runs}
    joined = name.strip("[]").replace(",", "+")
    assert f"{joined} begins when a first task has ended" in said.pop((joined, 1))[0]
    assert list(said.values()) == [[], []]


@pytest.mark.parametrize(
    "words",
    ["intervention=glob(*)", f"intervention=redo,reset_experts,perturb_experts,prune_experts{EXPERTS}"],
    ids=["images", "boards"],
)
def test_in_a_smoke_run_every_intervention_does_something(words, tmp_path):
    runs = runs_of(*words.split(), "schedule=smoke")
    assert len(runs) > 3
    resource = assembly.resources(data_folder(str(tmp_path)))
    assert not too_short([(run, assembly.cost_of(run, resource(run)).updates) for run in runs])
