import pytest

from launch.runs.words import plain, read, spelled
from plasticity_lab.errors import ConfigError


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("store=ü", "ü"),
        ("store=/runs/日本/ｘ", "/runs/日本/ｘ"),
        ("store=~/runs", "~/runs"),
        ("store=a=b", "a=b"),
        ("store=it’s", None),
        ("store=ü,a", None),
        ("store=ü\\", None),
        (" seed=1\n", 1),
    ],
)
def test_what_the_grammar_takes_only_in_quotes_is_put_in_quotes_where_it_can_mean_one_thing_only(word, value):
    if value is None:
        with pytest.raises(ConfigError):
            read(word)
    else:
        assert plain(read(word).value()) == value


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("", "is an empty word"),
        ("seed =1", "has a blank before the ="),
        ("seed==1", "has two = in a row"),
        ("==", "names no setting before the ="),
        ("seed.=1", "begins with 'seed.', which cannot be the name of a setting"),
        ("activation@x:y=relu", "begins with 'activation@x:y', which cannot be the name of a setting"),
        ("ü=1", "has a key with other letters than a-z"),
        ("seed＝1", r"is no key=value.* \(did you mean seed=1\?\)"),
        ("store=a\u200bb", "has an invisible sign, U\\+200B"),
        ("seed=,1", "has a comma with no value before it"),
        ("seed=" + "1" * 5000, "has a number of thousands of digits"),
        ("seed=1\x00", "holds a line break or another control character"),
        # Torch's compiler, where it has run before in this process, has raised the limit of recursion: 900 would pass.
        ("seed=" + "[" * 3000 + "]" * 3000, "has too many brackets in one another"),
        ("seed=[" + "x" * 5000, "has a bracket without its other half"),
    ],
)
def test_a_word_that_cannot_be_read_is_answered_on_one_line(word, said):
    with pytest.raises(ConfigError, match=said) as raised:
        read(word)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 1e-8, 0.1, "null", "a b", "it's", 'a"b', "c,d\\", "${x", [1, ["a", None]], {"k": [{"x": 1}]}],
)
def test_a_value_is_spelled_as_it_is_read(value):
    override = read(f"key={spelled(value)}")
    assert not override.is_sweep_override()
    assert plain(override.value()) == value
