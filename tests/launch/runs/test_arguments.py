import pytest

from launch.runs.arguments import Vocabulary, parse

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
