"""The best of a column against the next best, and against all others, as Table 1 has it."""

from dataclasses import replace

import pytest

from analysis.rows import rows
from analysis.statistics.two_groups import holm, welch
from analysis.tables.build import build
from analysis.tables.caption import caption
from analysis.tables.declared.means import TABLE2

AGAINST_ALL = replace(TABLE2, against="all")


def cells(table, records):
    (result,) = build(table, rows(records))
    return {row.name: cell for (row, _), cell in result.cells.items()}, result


def test_the_best_is_tested_against_each_other_and_shows_the_one_it_is_told_apart_from_the_least(seeds):
    values = {"relu": [0.50, 0.51, 0.52], "tanh": [0.40, 0.60, 0.50], "rrelu": [0.80, 0.81, 0.83]}
    found, result = cells(AGAINST_ALL, [record for name in values for record in seeds(name, values[name])])
    tests = {name: welch(values["rrelu"], values[name]) for name in ("relu", "tanh")}
    assert tests["tanh"].p > tests["relu"].p, "its mean is the lower, and it varies more"
    best = found["rrelu"]
    assert best.next == "Tanh"
    assert best.against_next.p == pytest.approx(tests["tanh"].p)
    assert best.holm == pytest.approx(max(holm([tests["relu"].p, tests["tanh"].p])))
    assert best.significant == (tests["tanh"].p < 0.05)
    assert result.tests == 2
    assert all(found[name].against_next is None for name in ("relu", "tanh"))


def test_one_other_that_could_be_as_good_takes_the_mark(seeds):
    clear = {"relu": [0.50, 0.51, 0.52], "rrelu": [0.80, 0.81, 0.83]}
    found, _ = cells(AGAINST_ALL, [record for name in clear for record in seeds(name, clear[name])])
    assert found["rrelu"].significant
    close = {**clear, "tanh": [0.70, 0.80, 0.92]}
    found, result = cells(AGAINST_ALL, [record for name in close for record in seeds(name, close[name])])
    assert found["rrelu"].best
    assert not found["rrelu"].significant
    said = "\n".join(caption(result.table, result))
    assert "the same mean as each of the others" in said


def test_those_from_which_the_best_is_not_told_apart_are_marked_as_it_is(seeds):
    values = {"relu": [0.50, 0.51, 0.52], "rrelu": [0.80, 0.81, 0.83], "tanh": [0.70, 0.80, 0.92], "gelu": [0.7] * 3}
    for table in (TABLE2, AGAINST_ALL):
        found, result = cells(table, [record for name in values for record in seeds(name, values[name])])
        assert [name for name, cell in found.items() if cell.best] == ["rrelu"]
        assert [name for name, cell in found.items() if cell.alike] == ["tanh"]
        assert welch(values["rrelu"], values["tanh"]).p >= table.level > welch(values["rrelu"], values["gelu"]).p
        listing = table.listing(result)
        assert {listing.body[line][0] for line, _ in listing.bold} == {"RReLU", "Tanh"}
        assert "not significantly different" in "\n".join(listing.caption)


def test_of_what_cannot_be_tested_nothing_is_said(seeds):
    found, _ = cells(TABLE2, [*seeds("relu", [0.5]), *seeds("tanh", [0.6])])
    assert found["tanh"].best
    assert not found["relu"].alike
    assert (found["tanh"].sd, found["tanh"].against_next.p) == (None, None), "one seed"
    found, _ = cells(TABLE2, [*seeds("relu", [0.5, 0.6, 0.7]), *seeds("tanh", [0.51, 0.62, 0.70])])
    assert (found["tanh"].best, found["tanh"].significant) == (True, False), "it could be luck"


def test_a_column_of_one_has_a_best_and_no_test(seeds):
    found, result = cells(AGAINST_ALL, seeds("relu", [0.5, 0.6]))
    assert found["relu"].best
    assert found["relu"].against_next is None
    assert result.tests == 0
