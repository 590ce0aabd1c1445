"""Somebody else's activation: one Python file and one YAML file outside the repository, nothing else touched."""

import pytest

from launch.command import resolve
from launch.runs.options import CONF
from plasticity_lab.errors import ConfigError

pytestmark = pytest.mark.sample(7)

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
    with pytest.raises(ConfigError, match=r"my_act\?"):
        resolve([where, "activation=my_actt"])


def test_what_is_published_for_no_one_uses_its_own_values_and_says_so(outside):
    words = ["activation=my_act,relu", "benchmark=permuted_mnist,random_label_mnist", "hyperparams=best"]
    found = resolve([f"hydra.searchpath=[file://{outside}]", *words])
    (note,) = found.notes
    assert all(key in note for key in ("my_act on permuted_mnist", "my_act on random_label_mnist"))
    assert (found.runs[0].science["activation"]["scale"], found.runs[0].science["optimizer"]["lr"]) == (2.0, 0.001)


@pytest.mark.walk(4)
@pytest.mark.parametrize(
    ("content", "key"),
    [
        ("# @package _global_\nseed: 3\n", "@package"),
        ("defaults: [my_act@_global_]\n", "_target_, scale"),
        ("_target_: somebodys_scaled.Missing\n", "somebodys_scaled.Missing"),
        ("_target_: pathlib.Path\n", "pathlib.Path"),
        ("_target_: somebodys_scaled.Scaled\nslope: 1\n", "'slope'"),
        ("scale: 1\n", "no _target_"),
        ("- scale\n", "keys and values"),
        ("_target_: plasticity_lab.networks.mlp.MLP\n", "no activation"),
        ("_target_: 12\n", "_target_"),
        ("_target_: broken.X\n", "broken.py"),
        ("a: [\n", "line"),
        ("[1]: 2\n", "key"),
        ("a: &a [*a]\n", "keys and values"),
        ("scale: ${nope}\n", "'nope'"),
        ("defaults: [{my_act: null}]\n", "defaults"),
        ("_target_: somebodys_scaled.Scaled\ngrids: [1]\n", "grids"),
    ],
)
def test_a_wrong_file_is_refused_in_a_sentence(outside, content, key):
    (outside / "activation" / "odd.yaml").write_text(content)
    with pytest.raises(ConfigError) as raised:
        resolve([f"hydra.searchpath=[file://{outside}]", "activation=odd"])
    assert key in str(raised.value)


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
    columns = "benchmark,activation,lr,hyperparameters\n"
    for content, key in [
        ("benchmark,activation\npermuted_digits,my_act\n", "hyperparameters"),
        (f"{columns}permuted_digits,my_act,x,{{}}\n", "line 2: lr is 'x'"),
        (f"{columns}permuted_digits,my_act,1,[2]\n", "line 2: hyperparameters"),
        (f"{columns}permuted_digits,my_act,1\n", "line 2: hyperparameters"),
    ]:
        table.write_text(content)
        with pytest.raises(ConfigError, match=key):
            resolve(words)


@pytest.mark.parametrize(
    ("group", "content", "keys"),
    [
        ("schedule", "at_most: {tasks: ten}", "at_most.tasks, 'ten'"),
        ("schedule", "at_mots: {tasks: 1}", "at_mots, at_most"),
        ("protocol", "set: {benchmark: shuffle}", "set.benchmark, 'shuffle'"),
        ("protocol", "set: {benchmrk: {order: shuffle}}", "set.benchmrk, activ"),
        ("benchmark", "default_network: [mlp]", "benchmark=odd, default_network"),
        ("hyperparams", "grids: {a: {unite: x}}", "grids.a.learning_rates"),
        ("hyperparams", "look_up: /", "/"),
        ("tracking", "x: 1", "tracking.x, backend"),
        ("experiment", "{}", None),
        ("experiment", "seed: 1", "# @package _global_"),
        ("experiment", "# @package _global_\nhydra: {sweeper: {params: [seed]}}", "sweeper.params"),
        ("experiment", "# @package _global_\nhydra: {mode: RUN}", "odd.yaml, sweeper"),
        ("experiment", "# @package _global_\ndefaults: [{override /activation: null}]", "odd.yaml, defaults"),
        ("protocol", "set: {benchmark: {order: sorted}}", "benchmark.order, 'sorted', fixed"),
    ],
)
def test_a_wrong_file_of_another_group_is_refused_in_a_sentence(outside, group, content, keys):
    (outside / group).mkdir()
    (outside / group / "odd.yaml").write_text(content)
    words = [f"hydra.searchpath=[file://{outside}]", f"{group}=odd"]
    if keys is None:
        assert len(resolve(words).runs) == 1
        return
    with pytest.raises(ConfigError) as raised:
        resolve(words)
    assert [key for key in keys.split(", ") if key not in str(raised.value)] == [], raised.value
