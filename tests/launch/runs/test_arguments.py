import pytest

from launch.runs.arguments import Axes, Vocabulary, distinct, parse, together
from plasticity_lab.errors import ConfigError

VOCABULARY = Vocabulary(
    options={"activation": ["gelu", "leaky_relu", "relu", "tanh"], "protocol": ["as_published", "clean"]},
    components=("activation",),
    keys=("seed", "data", "launch.workers"),
    texts=("data",),
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


@pytest.mark.parametrize("name", ["12", "1.50", "1e3", "1_0", "true", "nan", "007"])
def test_what_looks_like_a_number_is_a_name_where_a_text_is_wanted(name):
    assert parse([f"data={name}"], VOCABULARY).values == {"data": [name]}


@pytest.mark.parametrize(
    ("word", "values"),
    [
        ("seed=range(3)", [0, 1, 2]),
        ("seed=range(5,3,-1)", [5, 4]),
        ("seed=range(0,2.5)", [0, 1, 2]),
        ("seed=range(0,1,0.25)", [0, 0.25, 0.5, 0.75]),
        ("seed=sort(range(0,3),reverse=true)", [2, 1, 0]),
    ],
)
def test_the_values_of_a_range(word, values):
    assert parse([word], VOCABULARY).values["seed"] == values


@pytest.mark.parametrize("word", ["seed=range(0,1000001)", "seed=range(0,1,1e-9)", "seed=shuffle(range(0,1e15))"])
def test_a_range_is_measured_before_it_is_written_out(word):
    with pytest.raises(ConfigError, match=r"names .* runs \(.* of seed\), and a command may name 1,000,000"):
        parse([word], VOCABULARY)


def test_a_value_that_is_given_twice_counts_once_and_is_said():
    said = parse(["seed=0,1,0,0,true", "activation=relu,tanh,relu"], VOCABULARY)
    once, lines = distinct(said)
    assert once == Axes({"activation": ["relu", "tanh"]}, {"seed": [0, 1, True]})
    assert lines == [
        "activation: relu is given more than once; each value counts once.",
        "seed: 0 is given more than once; each value counts once.",
    ]
    assert distinct(once) == (once, [])


def test_of_an_experiments_words_only_those_count_that_are_not_typed():
    preset, typed = (parse(words, VOCABULARY) for words in (["seed=0,0", "activation=tanh"], ["seed=3"]))
    assert distinct(together(preset, typed)) == (Axes({"activation": ["tanh"]}, {"seed": [3]}), [])
