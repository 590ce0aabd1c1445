import pytest

from launch.arguments import Vocabulary, parse
from plasticity_lab.errors import ConfigError

VOCABULARY = Vocabulary(
    options={"activation": ["gelu", "leaky_relu", "relu", "tanh"], "protocol": ["as_published", "clean"]},
    components=("activation",),
    keys=("seed", "data", "launch.workers"),
)


@pytest.mark.parametrize(
    ("word", "options"),
    [
        ("activation=relu", ["relu"]),
        ("activation=tanh,relu", ["tanh", "relu"]),
        ("activation=glob(*)", ["gelu", "leaky_relu", "relu", "tanh"]),
        ("activation=glob(*,exclude=[*relu,tanh])", ["gelu"]),
        ("activation='relu','tanh'", ["relu", "tanh"]),
        ("+activation=relu", ["relu"]),
    ],
)
def test_options_of_a_group(word, options):
    said = parse([word], VOCABULARY)
    assert (said.choices, said.values) == ({"activation": options}, {})


@pytest.mark.parametrize(
    ("word", "values"),
    [
        ("seed=3", [3]),
        ("seed=0,1,2", [0, 1, 2]),
        ("seed=range(0,3)", [0, 1, 2]),
        ("seed='3'", ["3"]),
        ("seed=null", [None]),
        ("seed=1e-3,0.5", [0.001, 0.5]),
        ("seed=true", [True]),
        ("seed=[1,'a b']", [[1, "a b"]]),
        ("seed='a b','c'", ["a b", "c"]),
    ],
)
def test_values_of_a_key(word, values):
    found = parse([word], VOCABULARY).values["seed"]
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["activation=reluu"], ["activation=reluu", "did you mean relu?", "gelu, leaky_relu, relu, tanh"]),
        (["activation=*"], ["no activation=*", "'activation=glob(*)', in quotes"]),
        (["activation=glob(zz*)"], ["matches no option of activation", "gelu, leaky_relu, relu, tanh"]),
        (["activation=[relu,tanh]"], ["activation=one,other"]),
        (["activation=null"], ["no activation=null"]),
        (["sed=1"], ["no setting 'sed'", "did you mean seed?", "launch.workers", "activation.<setting>"]),
        (["+unknown=1"], ["no setting 'unknown'", "seed"]),
        (["protocol.order=shuffle"], ["protocol is only chosen by name", "as_published, clean"]),
        (["launch.worker=2"], ["did you mean launch.workers?"]),
        (["~seed"], ["'~seed'", "another value"]),
        (["activation@here=relu"], ["another value"]),
        (["seed=1", "seed=2"], ["seed is given twice", "'seed=1'", "'seed=2'"]),
        (["seed=[1"], ["'seed=[1' cannot be read as key=value"]),
        (["relu"], ["'relu' cannot be read as key=value"]),
        (["seed=range(3,3)"], ["names no value at all"]),
        (["seed=interval(0,1)"], ["is not a list of values"]),
        (["seed=glob(*)"], ["is not a list of values"]),
    ],
)
def test_what_cannot_be_meant_is_answered_with_what_can(words, said):
    with pytest.raises(ConfigError) as raised:
        parse(words, VOCABULARY)
    message = str(raised.value)
    assert "\n" not in message
    for part in said:
        assert part in message
