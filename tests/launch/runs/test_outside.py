"""Somebody else's activation: one Python file and one YAML file outside the repository, nothing else touched."""

import pytest

from launch.command import resolve
from launch.runs.options import CONF
from plasticity_lab.errors import ConfigError

pytestmark = pytest.mark.sample(10)

PYTHON = """
from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import check

class Scaled(Activation):
    def __init__(self, scale: float = 1.0) -> None:
        self.scale = check("activation.scale", scale, above=0)

    def __call__(self, x, site):
        return x * self.scale

    def gain(self):
        return 1 / self.scale
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    (tmp_path / "conf" / "activation").mkdir(parents=True)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "somebodys_scaled.py").write_text(PYTHON)
    (tmp_path / "code" / "broken.py").write_text("def x(:\n")
    (tmp_path / "conf" / "activation" / "my_act.yaml").write_text("_target_: somebodys_scaled.Scaled\nscale: 2\n")
    monkeypatch.syspath_prepend(tmp_path / "code")
    return tmp_path / "conf"


def test_it_joins_a_glob_and_is_checked_like_our_own(outside):
    where = f"hydra.searchpath=[file://{outside}]"
    names = [run.science["activation"]["name"] for run in resolve([where, "activation=glob(*)"]).runs]
    assert {"my_act", "relu"} <= set(names)
    with pytest.raises(ConfigError, match=r"activation\.scale.*0\.0.*above 0"):
        resolve([where, "activation=my_act", "activation.scale=0"])
    with pytest.raises(ConfigError, match=r"did you mean my_act\?"):
        resolve([where, "activation=my_actt"])


def test_what_is_published_for_no_one_uses_its_own_values_and_says_so(outside):
    words = ["activation=my_act,relu", "benchmark=permuted_mnist,random_label_mnist", "hyperparams=best"]
    found = resolve([f"hydra.searchpath=[file://{outside}]", *words])
    assert found.notes == [
        "hyperparams: nothing is published for my_act on permuted_mnist; my_act on random_label_mnist; "
        "their defaults are used."
    ]
    assert found.runs[0].science["activation"]["scale"] == 2.0
    assert found.runs[0].science["optimizer"]["lr"] == 0.001


@pytest.mark.walk(4)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("# @package _global_\nseed: 3\n", "has a @package line; an option's file sets its own group only"),
        ("defaults: [my_act@_global_]\n", "activation=odd sets _target_, scale; an option's file"),
        ("_target_: somebodys_scaled.Missing\n", "names no class that can be imported"),
        ("_target_: pathlib.Path\n", "is not a class derived from"),
        ("_target_: somebodys_scaled.Scaled\nslope: 1\n", "activation=odd has no setting 'slope'"),
        ("scale: 1\n", "activation=odd has no _target_"),
        ("- scale\n", "must hold keys and values"),
        ("12\n", "must hold keys and values"),
        (
            "_target_: plasticity_lab.networks.mlp.MLP\n",
            "MLP' is no activation; its class must be derived from",
        ),
        ("_target_: 12\n", "_target_ must name a class"),
        ("_target_: broken.X\n", r"names no class that can be imported \(.*broken.py"),
        ("a: [\n", r"odd.yaml is not YAML: .*line"),
        ("[1]: 2\n", "a list or a mapping as a key"),
        ("a: &a [*a]\n", "must hold keys and values"),
        ("scale: ${nope}\n", "odd.yaml cannot be read as keys and values: Interpolation key 'nope' not found"),
        ("defaults: 3\n", "odd.yaml: defaults has 3; it must be a list"),
        ("defaults: [{my_act: null}]\n", "odd.yaml: defaults has {my_act: null}; it must be a list"),
        ("_target_: somebodys_scaled.Scaled\ngrids: [1]\n", "activation=odd: grids is .1.; it must be keys and values"),
    ],
)
def test_a_wrong_file_is_refused_in_a_sentence(outside, content, said):
    (outside / "activation" / "odd.yaml").write_text(content)
    with pytest.raises(ConfigError, match=said):
        resolve([f"hydra.searchpath=[file://{outside}]", "activation=odd"])


def test_a_file_with_the_name_of_another_is_not_read_and_that_is_said(outside):
    for name in ("relu", "my_act"):
        (outside / "activation" / f"{name}.yaml").write_text("_target_: somebodys_scaled.Scaled\n")
    found = resolve([f"hydra.searchpath=[file://{outside}]", "activation=relu,my_act"])
    assert [run.targets["activation"].rpartition(".")[2] for run in found.runs] == ["ReLU", "Scaled"]
    (note,) = found.notes
    assert note.startswith(f"activation=relu is read from {CONF / 'activation' / 'relu.yaml'}; ")
    assert f"{outside / 'activation' / 'relu.yaml'} has the same name and is not read" in note


def test_a_look_up_table_and_a_protocol_of_ones_own(outside):
    for group in ("hyperparams", "protocol"):
        (outside / group).mkdir()
    table = outside / "mine.csv"
    table.write_text('benchmark,activation,lr,hyperparameters\npermuted_digits,my_act,0.5,"{""scale"": 7}"\n')
    (outside / "hyperparams" / "mine.yaml").write_text(f"look_up: {table}\n")
    (outside / "protocol" / "mine.yaml").write_text("set: {network: {init: kaiming}, benchmark: {batch_size: 8}}\n")
    words = [f"hydra.searchpath=[file://{outside}]", "activation=my_act", "hyperparams=mine", "protocol=mine"]
    (run,) = resolve(words).runs
    assert (run.science["activation"]["scale"], run.science["optimizer"]["lr"]) == (7.0, 0.5)
    assert (run.science["network"]["init"], run.science["benchmark"]["batch_size"]) == ("kaiming", 8)

    table.write_text("benchmark,activation\npermuted_digits,my_act\n")
    with pytest.raises(ConfigError, match="benchmark, activation, lr and hyperparameters"):
        resolve(words)
    for line, said in [
        ("my_act,x,{}", "line 2: lr is 'x'; it must be a number"),
        ("my_act,1,[2]", r"line 2: hyperparameters is '\[2\]'; it must be JSON"),
        ("my_act,1", "line 2: hyperparameters is null; it must be JSON"),
    ]:
        table.write_text(f"benchmark,activation,lr,hyperparameters\npermuted_digits,{line}\n")
        with pytest.raises(ConfigError, match=said):
            resolve(words)
    table.unlink()
    with pytest.raises(ConfigError, match=r"mine\.csv"):
        resolve(words)


@pytest.mark.parametrize(
    ("group", "content", "said"),
    [
        ("schedule", "at_most: {tasks: ten}", "schedule=odd: at_most.tasks is 'ten'; it must be a whole number"),
        ("schedule", "at_mots: {tasks: 1}", "schedule=odd: at_mots is no setting; there are at_most"),
        ("protocol", "set: {benchmark: shuffle}", "protocol=odd: set.benchmark is 'shuffle'"),
        ("protocol", "set: {benchmrk: {order: shuffle}}", "protocol=odd: set.benchmrk is 'benchmrk'; it must be activ"),
        ("benchmark", "default_network: [mlp]", r"benchmark=odd: default_network is \['mlp'\]; it must be a word"),
        ("hyperparams", "grids: {a: {unite: x}}", "hyperparams=odd: grids.a.learning_rates is missing"),
        ("hyperparams", "look_up: /", "the table / cannot be read"),
        ("tracking", "x: 1", "tracking.x is no setting; there are backend, project, entity, live_runs"),
        ("experiment", "{}", None),
        ("experiment", "seed: 1", "odd.yaml needs the line `# @package _global_`"),
        ("experiment", "3", "odd.yaml must hold keys and values"),
        ("experiment", "# @package _global_\nhydra: {sweeper: {params: [seed]}}", "an experiment sets sweeper.params"),
        ("experiment", "# @package _global_\nhydra: {mode: RUN}", "always resolved by our own sweeper"),
        ("experiment", "# @package _global_\ndefaults: [{override /activation: null}]", "odd.yaml: defaults has"),
        ("protocol", "set: {benchmark: {order: sorted}}", "benchmark.order is 'sorted'; it must be one of fixed"),
    ],
)
def test_a_wrong_file_of_another_group_is_refused_in_a_sentence(outside, group, content, said):
    (outside / group).mkdir()
    (outside / group / "odd.yaml").write_text(content)
    words = [f"hydra.searchpath=[file://{outside}]", f"{group}=odd"]
    if said is None:
        assert len(resolve(words).runs) == 1
    else:
        with pytest.raises(ConfigError, match=said):
            resolve(words)
