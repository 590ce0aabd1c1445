"""Components that do not go with others: the sentence, and the sweep that goes on without them."""

import pytest

from launch.command import resolve
from launch.runs import classes
from launch.runs.desk import Misfit
from plasticity_lab.activations.relu import ReLU
from plasticity_lab.agents.agent import Agent
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.none import NoIntervention
from plasticity_lab.others import Others
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.optimizer import Optimizer

BENCHMARK = "benchmark=permuted_digits"


class Picky(NoIntervention):
    """It refuses all optimizers except for Adam with a rate of at most 1, and itself beside another intervention."""

    objects_to = frozenset({"optimizer", "intervention"})

    def objection(self, others):
        if "intervention" in others:
            others.one("intervention", Intervention)
            return "it goes alone"
        optimizer = others.one("optimizer", Optimizer)
        if not isinstance(optimizer, Adam):
            return "it needs moments"
        return "optimizer.lr is large" if optimizer.lr > 1 else None


class Unasked(ReLU):
    """It forgot to say what it reads."""

    def objection(self, others):
        return "never asked"


class Misspelt(NoIntervention):
    """A group that does not exist."""

    objects_to = frozenset({"optimiser"})


class Undeclared(NoIntervention):
    """It reads a group that it does not name."""

    def objection(self, others):
        return str(others.one("activation", object))


@pytest.fixture
def planted(tmp_path):
    for group, cls in (("intervention", Picky), ("activation", Unasked), ("intervention", Misspelt),
                       ("intervention", Undeclared)):  # fmt: skip
        file = tmp_path / group / f"{cls.__name__.lower()}.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"_target_: {__name__}.{cls.__name__}\n")
    return f"hydra.searchpath=[file://{tmp_path}]"


def test_a_component_alone_is_refused_in_a_sentence_that_names_what_it_read(planted):
    with pytest.raises(Misfit) as caught:
        resolve([planted, BENCHMARK, "intervention=picky", "optimizer=sgd"])
    assert str(caught.value) == "intervention=picky does not go with optimizer=sgd: it needs moments."
    with pytest.raises(Misfit, match=r"^intervention=picky does not go with intervention=l2: it goes alone"):
        resolve([planted, BENCHMARK, "intervention=[picky,l2]", "optimizer=adam"])


def test_a_sweep_goes_on_without_refused_choices_and_refused_values_and_says_so(planted):
    words = [planted, BENCHMARK, "intervention=none,picky", "optimizer=adam,sgd", "optimizer.adam.lr=0.1,2"]
    found = resolve(words)
    made = [(run.name("intervention"), run.name("optimizer"), run.settings("optimizer")["lr"]) for run in found.runs]
    assert [each for each in made if each[0] == "picky"] == [("picky", "adam", 0.1)]
    assert len(made) == 4
    left_out = [note for note in found.notes if note.startswith("Left out of the sweep: intervention=picky")]
    assert [note.partition(": ")[2] for note in left_out] == [
        "intervention=picky does not go with optimizer=adam: optimizer.lr is large.",
        "intervention=picky does not go with optimizer=sgd: it needs moments.",
    ]


def test_a_component_is_asked_once_for_the_settings_that_it_reads(planted, monkeypatch):
    asked = []
    told = classes.objection
    monkeypatch.setattr(classes, "objection", lambda address, options: asked.append(address) or told(address, options))
    words = ["optimizer=adam", "optimizer.lr=0.1,0.2", "activation=relu,tanh", "seed=range(0,50)"]
    assert len(resolve([planted, BENCHMARK, "intervention=picky", *words]).runs) == 200
    assert asked.count("intervention") == 2


@pytest.mark.parametrize(
    ("choice", "keys"),
    [
        ("activation=unasked", ("Unasked", "objects_to")),
        ("intervention=misspelt", ("Misspelt", "'optimiser'", "optimizer")),
        ("intervention=undeclared", ("activation", "objects_to")),
    ],
)
def test_a_class_that_does_not_say_what_it_reads_is_an_error(planted, choice, keys):
    with pytest.raises(ConfigError) as caught:
        resolve([planted, BENCHMARK, choice])
    assert [key for key in keys if key not in str(caught.value)] == []


def test_others_gives_one_component_or_each_of_a_group():
    one = Adam()
    others = Others({"optimizer": {"adam": one}, "intervention": {"a": NoIntervention(), "b": NoIntervention()}})
    assert others.one("optimizer", Optimizer) is one
    assert others.read == ["optimizer"]
    assert len(others.each("intervention", NoIntervention)) == 2
    assert "benchmark" not in others
    with pytest.raises(ConfigError, match="Adam"):
        others.one("optimizer", Agent)


def test_an_agent_that_does_not_learn_a_benchmark_leaves_the_others_to_the_sweep():
    found = resolve(["agent=supervised", "benchmark=permuted_digits,catch", "network=mlp"])
    assert [run.name("benchmark") for run in found.runs] == ["permuted_digits"]
    assert any("Left out of the sweep: agent=supervised learns" in note for note in found.notes)


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (["agent=dqn", "benchmark=catch", "agent.life_loss_is_terminal=true"], "agent=dqn cannot learn, lives"),
        ([BENCHMARK, "network=mlp", "head=softmoe"], "feature map, head=flatten"),
        ([BENCHMARK, "intervention=ewc", "agent=dqn", "benchmark=catch"], "intervention=ewc, agent=dqn"),
    ],
)
def test_what_would_fail_later_or_have_no_effect_is_refused_here(words, keys):
    with pytest.raises(Misfit) as caught:
        resolve(list({word.partition("=")[0]: word for word in words}.values()))
    assert [key for key in keys.split(", ") if key not in str(caught.value)] == []


def test_a_sweep_goes_on_without_networks_that_cannot_be_built():
    found = resolve([BENCHMARK, "network=mlp,small_nature", "head=flatten,softmoe"])
    made = {(run.name("network"), run.name("head")) for run in found.runs}
    assert made == {("mlp", "flatten"), ("small_nature", "flatten"), ("small_nature", "softmoe")}
    assert len([note for note in found.notes if "feature map" in note]) == 1
