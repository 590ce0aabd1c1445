import pytest

from launch.runs.ranges import range_of
from launch.runs.words import read
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.searches.space import Range


def found(word):
    return range_of(read(word).value(), word)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("a.b=interval(0,1)", Range(0, 1)),
        ("a.b=interval(-0.5,2.5)", Range(-0.5, 2.5)),
        ("a.b=int(interval(4,16))", Range(4, 16, whole=True)),
        ("a.b=int(interval(4.0,1e2))", Range(4, 100, whole=True)),
        ("a.b=tag(log,interval(1e-5,1e-2))", Range(1e-5, 1e-2, log=True)),
        ("a.b=tag(log,int(interval(4,16)))", Range(4, 16, log=True, whole=True)),
    ],
)
def test_a_range_is_read_as_hydra_writes_it_and_written_so_again(word, meant):
    assert found(word) == meant
    assert found(f"a.b={meant}") == meant


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("a.b=interval(1,0)", "the lower one first"),
        ("a.b=interval(1,1)", "the lower one first"),
        ("a.b=interval(0,inf)", "two finite numbers"),
        ("a.b=int(interval(1.5,2.5))", "has the end 1.5, which is no whole number"),
        ("a.b=int(interval(1.2,1.9))", "has the end 1.2"),
        ("a.b=int(interval(start=1,end=2.5))", "has the end 2.5"),
        ("a.b=tag(log,int(interval(0.5,8)))", "has the end 0.5"),
        ("a.b=tag(log,interval(0,1))", "has no logarithm"),
        ("a.b=tag(lag,interval(0,1))", "has the tag lag"),
    ],
)
def test_what_holds_nothing_or_cannot_be_searched_is_refused(word, said):
    with pytest.raises(ConfigError, match=said):
        found(word)


def test_values_have_four_digits_and_stay_inside():
    assert Range(0, 1).rounded(0.123456) == 0.1235
    assert Range(0.12344, 1).rounded(0.12344) == 0.12344
    assert Range(0, 0.12346).rounded(0.12346) == 0.12346
    assert Range(4, 16, whole=True).rounded(5.0) == 5


def test_probes_are_the_ends_and_a_number_between():
    assert Range(1e-4, 1e-2, log=True).probes == [1e-4, 1e-2, pytest.approx(1e-3)]
    assert Range(4, 16, whole=True).probes == [4, 16, 11]
