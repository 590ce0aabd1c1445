"""The command that the report shows for a run makes that run and no other."""

import pytest

from analysis.report.run_command import words
from analysis.rows import rows
from launch.command import resolve


@pytest.mark.walk(3)
@pytest.mark.parametrize(
    "asked",
    [
        ["experiment=demo"],
        ["activation=leaky_relu", "activation.negative_slope=0.3", "seed=0,1", "stream_seed=5", "init_seed=7"],
        ["benchmark=cifar51", "protocol=clean", "schedule=smoke", "hyperparams=best", "activation=glob(*)"],
        # What a schedule would cap, said to be more; what a protocol would set, said to be otherwise.
        ["benchmark.tasks=50", "schedule=demo", "protocol=clean", "benchmark.order=fixed", "benchmark.subset=first"],
        ["intervention=l2_init", "optimizer=sgd", "optimizer.momentum=0.9", "network=mlp", "network.width=32"],
        ["benchmark=classic_cycle", "agent=ppo", "benchmark.bodies=[cartpole]", "protocol=clean", "schedule=smoke"],
        ["benchmark=classic_cycle", "agent=ppo_cleanrl"],
        # What a schedule would cap of an agent, and what a benchmark or an agent would set of other choices.
        ["benchmark=catch", "schedule=smoke", "agent.capacity=1000000", "agent.target_period=8000"],
        ["benchmark=catch_84", "network.stride=1", "optimizer.lr=1e-3", "benchmark.environment_steps=500"],
        ["benchmark=classic_cycle", "optimizer.lr=1e-3"],
        ["precision=fp32", "optimizer.epsilon=1e-7", "optimizer.reset=task"],
    ],
)
def test_the_words_of_a_run_name_it_alone(asked):
    runs = resolve(asked).runs
    for run in runs[:6]:
        record = {"run": run.id, "status": "waiting", "science": run.science, "asked_as": run.asked_as}
        (row,) = rows([record])[:1]
        (again,) = resolve(words(row)).runs
        assert again.id == run.id, words(row)
    assert len(words(row)) < 16


def test_only_what_conf_does_not_say_is_said():
    (run,) = resolve(["activation=leaky_relu", "activation.negative_slope=0.3"]).runs
    (row,) = rows([{"run": run.id, "status": "waiting", "science": run.science, "asked_as": run.asked_as}])
    said = ["activation=leaky_relu", "benchmark=permuted_digits", "activation.negative_slope=0.3", "seed=0"]
    assert words(row) == said
