import re

import pytest

from launch.command import resolve
from plasticity_lab.errors import ConfigError

pytestmark = pytest.mark.sample(7)

SMOKE = ["benchmark=random_label_mnist", "schedule=smoke"]


def only(*words):
    (run,) = resolve(words).runs
    return run.science


def test_a_bare_command_is_one_complete_run():
    (run,) = resolve([]).runs
    of_groups = {key for key, value in run.science.items() if isinstance(value, dict)}
    assert run.targets.keys() == of_groups | run.besides.keys()
    assert run.science["benchmark"]["name"] == "permuted_digits"
    assert run.science["network"]["name"] == "mlp", "network=auto is the benchmark's"
    assert run.science["agent"] == {"name": "supervised"}
    assert (run.science["seed"], run.science["precision"]) == (0, "fp32")
    assert "stream_seed" not in run.science
    choices = "activation=relu benchmark=permuted_digits network=auto head=flatten optimizer=adam intervention=none "
    choices += "perturbation=none agent=auto target=auto hyperparams=default protocol=as_published schedule=full"
    assert run.asked_as[0] == dict(word.split("=") for word in choices.split()) | {"experiment": None}


def test_typed_over_protocol_over_schedule_over_option():
    assert only("benchmark=random_label_mnist")["benchmark"]["epochs"] == 400
    assert only(*SMOKE)["benchmark"]["epochs"] == 2
    assert only(*SMOKE, "benchmark.epochs=7")["benchmark"]["epochs"] == 7
    assert only("protocol=clean")["benchmark"]["order"] == "shuffle"
    fixed = only("protocol=clean", "benchmark.order=fixed")["benchmark"]
    assert (fixed["order"], fixed["subset"]) == ("fixed", "drawn")


def test_typed_over_best_over_option():
    words = ["activation=leaky_relu", "benchmark=permuted_mnist"]
    assert only(*words)["activation"]["negative_slope"] == 0.01
    assert only(*words, "hyperparams=best")["activation"]["negative_slope"] == 0.6
    assert only(*words, "hyperparams=best", "activation.negative_slope=0.2")["activation"]["negative_slope"] == 0.2
    assert only(*words, "hyperparams=best", "optimizer.lr=0.5")["optimizer"]["lr"] == 0.5


@pytest.fixture
def experiments(tmp_path):
    """A folder with one experiment, as a user keeps it outside the repository."""
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(
        "# @package _global_\n"
        "defaults: [{override /hyperparams: best}, {override /benchmark: permuted_mnist}, {override /schedule: demo}]\n"
        "hydra: {sweeper: {params: {activation: 'relu,leaky_relu', optimizer.lr: 0.25, benchmark.tasks: 400,\n"
        "  seed: 'range(0,2)', device: cpu}}}\n"
    )
    return [f"hydra.searchpath=[file://{tmp_path}]", "experiment=mine"]


def test_typed_over_experiment_over_best_and_schedule(experiments):
    found = resolve(experiments)
    assert [(run.name("activation"), run.science["seed"]) for run in found.runs] == [
        (name, seed) for name in ("relu", "leaky_relu") for seed in (0, 1)
    ]
    for run in found.runs:
        assert run.science["optimizer"]["lr"] == 0.25, "the look-up says 0.001"
        assert run.science["benchmark"]["tasks"] == 400, "the schedule says 20"
        assert run.asked_as[0]["experiment"] == "mine"
    assert found.runs[2].science["activation"]["negative_slope"] == 0.6, "the look-up fills what is not said"
    assert found.settings.device == "cpu"

    (run,) = resolve(
        [*experiments, "activation=leaky_relu", "seed=7", "optimizer.lr=0.5", "benchmark=permuted_digits"]
    ).runs
    assert (run.science["seed"], run.science["optimizer"]["lr"]) == (7, 0.5)
    assert run.science["benchmark"]["name"] == "permuted_digits"
    assert len(resolve([*experiments, "stream_seed=1,2"]).runs) == 8, "a new axis multiplies"


def test_an_experiments_body_cannot_bypass_precedence(tmp_path):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "body.yaml").write_text("# @package _global_\nbenchmark: {tasks: 5}\nstream_seed: 0\n")
    with pytest.raises(ConfigError, match=r"experiment=body sets benchmark, stream_seed .* hydra.sweeper.params"):
        resolve([f"hydra.searchpath=[file://{tmp_path}]", "experiment=body"])


def test_a_stand_in_and_what_is_not_published_are_said_once():
    found = resolve(["activation=relu,leaky_relu", "benchmark=permuted_digits,random_label_digits", "hyperparams=best"])
    assert found.notes == [
        "hyperparams: published values of another benchmark are used: permuted_mnist for permuted_digits, "
        "random_label_mnist for random_label_digits."
    ]
    slopes = {run.science["benchmark"]["name"]: run.science["activation"].get("negative_slope") for run in found.runs}
    assert slopes == {"permuted_digits": 0.6, "random_label_digits": 0.8}


def test_published_learning_rates_are_for_the_optimizer_they_were_found_with():
    words = ["activation=relu", "benchmark=random_label_mnist", "hyperparams=best"]
    rates = {}
    for word in ("optimizer=adam", "optimizer=adamw", "optimizer=sgd", "optimizer=sgd optimizer.lr=0.5"):
        found = resolve([*words, *word.split()])
        (run,) = found.runs
        rates[word] = run.science["optimizer"]["lr"], len(found.notes)
    assert rates == {
        "optimizer=adam": (1e-4, 0),
        "optimizer=adamw": (1e-4, 0),
        "optimizer=sgd": (1e-2, 1),
        "optimizer=sgd optimizer.lr=0.5": (0.5, 0),
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["benchmark=mujoco", "agent=ppo"], "HalfCheetah.*protocol=clean"),
        (["benchmark=mujoco", "protocol=clean"], None),
        (["benchmark=mujoco", "benchmark.bodies=[hopper]"], None),
        (["benchmark=mujoco", "benchmark.bodies=[hopper,ant]"], r"ant .*\[hopper,ant\].*tasks=2"),
        (["benchmark=mujoco", "benchmark.bodies=[ant,ant]", "benchmark.tasks=2"], "ant more than once"),
        (["benchmark=split_digits", "agent=experience_replay", "agent.per_task=1e9"], "per_task=1000000000"),
        (["benchmark=digits51,permuted_digits"], "digits51.*recency.*protocol=clean"),
        (["benchmark=digits51,permuted_digits", "benchmark.order=shuffle"], None),
    ],
)
def test_settings_that_may_not_be_meant_are_said_once(words, said):
    notes = resolve([*words, "seed=0,1"]).notes
    assert len(notes) == (said is not None)
    assert said is None or re.search(said, notes[0])


def test_the_store_is_typed_or_the_environments_or_here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PLASTICITY_STORE", raising=False)
    assert resolve([]).settings.store == tmp_path / "store"
    monkeypatch.setenv("PLASTICITY_STORE", "/elsewhere")
    assert str(resolve([]).settings.store) == "/elsewhere"
    assert resolve(["store=here"]).settings.store == tmp_path / "here"
    assert resolve([]).settings.data is None


def test_other_runs_in_the_sweep_change_no_id():
    alone = resolve(["activation=leaky_relu", "seed=1"]).runs[0]
    among = resolve(["activation=glob(*)", "seed=2,1,0", "optimizer.lr=0.1,0.001"]).runs
    assert alone.id in {run.id for run in among}
    assert len({run.id for run in among}) == len(among)


def test_every_rule_that_comes_to_the_same_values_comes_to_the_same_runs():
    asked = ["benchmark=permuted_mnist", "activation=leaky_relu", "network=auto,mlp", "hyperparams=best,default"]
    runs = resolve([*asked, "activation.negative_slope=0.6"]).runs
    assert len(runs) == 1
    assert [(names["network"], names["hyperparams"]) for names in runs[0].asked_as] == [
        (network, rule) for network in ("auto", "mlp") for rule in ("best", "default")
    ]
