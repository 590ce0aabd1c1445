"""agent=dqn among the choices: its settings, its price, and what does not fit together."""

from pathlib import Path

import pytest

from launch.command import resolve
from launch.plan.speed import default_calibration
from plasticity_lab.assembly import cost_of, resources
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.rows import Position
from plasticity_lab.replay.ring import bytes_of_step
from tests.agents.value.packs import SMALL, advanced, begun, task_of
from tests.tenants.packs import packs_of

SHARED = {
    "environments": 1,
    "gamma": 0.99,
    "batch": 32,
    "capacity": 1_000_000,
    "epsilon_eval": 0.001,
    "clip_rewards": True,
    "life_loss_is_terminal": False,
    "support_low": -10.0,
    "support_high": 10.0,
    "noise": 0.1,
    "noise_scope": "sample",
    "empty_each_task": False,
    "gradient_steps": 1,
}
SLOW = {"min_history": 20_000, "update_period": 4, "target_period": 8_000, "epsilon_decay": 250_000}
FAST = {"min_history": 1_600, "update_period": 1, "target_period": 2_000, "epsilon_decay": 2_000}
GREEDY = {"epsilon_start": 1.0, "epsilon_final": 0.01, "noisy": False}
NOISY = {"epsilon_start": 0.0, "epsilon_final": 0.0, "noisy": True}
VALUES = {"atoms": 0, "replay": "uniform", "n_step": 1}
DISTRIBUTIONS = {"atoms": 51, "replay": "prioritised"}


@pytest.mark.parametrize(
    ("name", "own", "lr"),
    [
        ("dqn", {**SLOW, **GREEDY, **VALUES, "double": False, "dueling": False}, 6.25e-5),
        ("rainbow_lite", {**SLOW, **GREEDY, **DISTRIBUTIONS, "n_step": 3, "double": False, "dueling": False}, 6.25e-5),
        ("rainbow", {**SLOW, **NOISY, **DISTRIBUTIONS, "n_step": 3, "double": True, "dueling": True}, 6.25e-5),
        ("der", {**FAST, **NOISY, **DISTRIBUTIONS, "n_step": 10, "double": True, "dueling": True}, 1e-4),
    ],
)
def test_their_settings_are_dopamines(name, own, lr):
    """Castro et al. 2018, the JAX agents with Adam, in agent steps; Table 1 of Sokar et al. 2025."""
    (run,) = resolve([f"agent={name}", "benchmark=catch", "seed=0"]).runs
    settings = run.science["agent"]
    assert {name: value for name, value in settings.items() if name not in ("name", "epoch_steps")} == SHARED | own
    assert (run.science["optimizer"]["lr"], run.science["optimizer"]["epsilon"]) == (lr, 1.5e-4)


@pytest.mark.sample(1)
def test_what_has_no_meaning_is_no_part_of_an_id():
    def id_of(*words: str) -> str:
        return resolve(["agent=dqn", "benchmark=catch", "seed=0", *words]).runs[0].id

    assert id_of("agent.support_low=-5", "agent.noise=0.5", "agent.noise_scope=batch") == id_of()
    assert len({id_of("agent.atoms=51"), id_of("agent.atoms=51", "agent.support_low=-5"), id_of("agent.noisy=true"),
                id_of("agent.noisy=true", "agent.noise=0.5"), id_of()}) == 5  # fmt: skip


def test_catch_is_learned_by_it():
    board, drawn = (resolve([f"benchmark={name}"]).runs[0].science for name in ("catch", "catch_84"))
    assert [run["agent"]["name"] for run in (board, drawn)] == ["dqn"] * 2
    assert [run["network"]["name"] for run in (board, drawn)] == ["small_nature"] * 2
    assert [run["network"]["stride"] for run in (board, drawn)] == [1, 4]


@pytest.mark.sample(1)
def test_a_smoke_run_is_never_the_full_run():
    names = ("capacity", "min_history", "target_period", "epsilon_decay", "epoch_steps")
    short, full = (resolve(["agent=dqn", "benchmark=catch", f"schedule={name}"]).runs[0] for name in ("smoke", "full"))
    assert all(short.science["agent"][name] < full.science["agent"][name] for name in names)
    own = [
        f"benchmark.environment_steps={full.science['benchmark']['environment_steps']}",
        "benchmark.test_episodes=10",
    ]
    (long,) = resolve(["agent=dqn", "benchmark=catch", "schedule=smoke", *own]).runs
    assert len({short.id, full.id, long.id}) == 3


@pytest.mark.walk(8)
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["benchmark=permuted_digits"], "agent=dqn learns bodies.*benchmark=permuted_digits"),
        (["benchmark=slippery_ant"], "agent=dqn cannot learn benchmark=slippery_ant: .*ant.*8 numbers"),
        (["benchmark=classic_cycle", "benchmark.bodies=[cartpole,catch]"], "one kind.*cartpole, catch"),
        (["intervention=ewc"], "intervention=ewc.*agent=dqn"),
        (["agent.capacity=0"], "agent.capacity is 0"),
        (["agent.min_history=100", "agent.capacity=100"], "agent.min_history is 100.* below agent.capacity"),
        (["agent.environments=8", "agent.capacity=103", "agent.min_history=96"], "min_history is 96.*96 steps"),
        (["agent.n_step=10", "agent.min_history=9"], "agent.min_history is 9.*agent.n_step.*10"),
        (["agent.update_period=0"], "agent.update_period is 0"),
        (["agent.gradient_steps=0"], "agent.gradient_steps is 0"),
        (["agent.target_period=0"], "agent.target_period is 0"),
        (["agent.epsilon_final=1.5"], "agent.epsilon_final is 1.5"),
        (["agent.epsilon_eval=-0.1"], "agent.epsilon_eval is -0.1"),
        (["agent.gamma=2"], "agent.gamma is 2"),
        (["agent.batch=0"], "agent.batch is 0"),
        (["agent.clip_rewards=1"], "agent.clip_rewards is 1.*true or false"),
        (["agent.n_step=90", "agent.min_history=20000"], "agent.n_step is 90.*catch has 90 steps"),
        (["agent.atoms=1"], "agent.atoms is 1.*at least 2"),
        (["agent.atoms=51", "agent.support_low=3", "agent.support_high=-3"], "support_low is 3.*support_high -3"),
        (["agent.atoms=51", "agent.support_low=10"], "support_low is 10.*support_high 10"),
        (["agent.replay=prioritized"], "agent.replay is 'prioritized'.*uniform, prioritised"),
        (["agent.noise_scope=example"], "agent.noise_scope is 'example'.*sample, batch"),
        (["agent.noise=-1"], "agent.noise is -1"),
        (["agent.rollout=32"], "agent=dqn has no setting 'rollout'"),
    ],
)
def test_what_does_not_fit_is_refused_at_the_desk(words, named):
    with pytest.raises(ConfigError, match=named):
        resolve(["agent=dqn", *([] if any("benchmark=" in word for word in words) else ["benchmark=catch"]), *words])


@pytest.mark.parametrize(
    ("words", "yardstick", "width"),
    [
        (("benchmark=catch", "network=mlp"), "dense", 8),
        (("benchmark=games", "benchmark.game=invaders", "network=small_impala", "head=softmoe"), "boards", 8),
        (("benchmark=catch_84", "network=impala"), "convolving", 1),
    ],
)
def test_boards_are_priced_by_figures_of_their_own_and_packed(words, yardstick, width):
    (run,) = packs_of("agent=rainbow", *words, "seed=0")
    cost = cost_of(run, resources(Path())(run))
    assert cost.speed == yardstick
    for kind in ("cpu-avx2-000000", "cpu-avx512-000000"):
        assert default_calibration(kind).of(cost.speed).widest("kernels") == width


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "more",
    [
        (),
        ("agent.environments=3", "agent.update_period=5"),
        ("agent.capacity=5000",),
        ("agent.empty_each_task=true",),
    ],
)
def test_its_price_is_what_it_does(more):
    (run,) = packs_of(*SMALL, *more, "seed=0")
    resource = resources(Path())(run)
    cost, (body,) = cost_of(run, resource), resource.by_name.values()
    learner, chunks = begun([run])
    advanced(learner, chunks)
    learner.begin(task_of([run], 1), fresh=True)
    advanced(learner, [*task_of([run], 1).chunks(Position(1, 0))])
    assert cost.length == 600 if not more else cost.length >= 600
    assert cost.updates == learner.network.updates > 0
    assert cost.parameters == learner.size
    assert cost.bulk_bytes == sum(entries.values.nbytes for entries in learner.bulk().values())
    assert (
        sum(share.bytes for share in cost.host_memory)
        == cost.bulk_bytes
        == learner.memory.ring.rows * (learner.agent.environments * bytes_of_step(body))
    )
    assert cost.host_steps["catch"] == cost.length + 2 * 2 * 18
    assert cost.forwards == cost.length // learner.agent.environments + 2 * 18
    assert cost.host_calls == {"catch": cost.forwards}


@pytest.mark.sample(1)
def test_chunks_are_shorter_where_an_update_takes_long():
    small, large = (
        begun(packs_of("benchmark=catch_84", "agent=dqn", f"network={name}", "seed=0"))[1][0].steps
        for name in ("small_nature", "nature")
    )
    assert large < small == 128
