"""Each choice of conf/ beside each choice of the other groups: a run of a few steps works, or is refused in words.

`make test` trains rows with pairs that are drawn, about a tenth of the whole array; SLOW=1 takes all.
"""

import itertools
from hashlib import sha256

import pytest

from plasticity_lab.environments import bodies
from tests.helpers.covering import array, pairs_of
from tests.helpers.every_pair import every_choice, refusal, rows, trained
from tests.helpers.made_up_bodies import CHOSEN, PICTURED, SLIDERS
from tests.helpers.walks import SEED

PARTS = 10


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    for body in (SLIDERS, CHOSEN, PICTURED):
        monkeypatch.setitem(bodies.BODIES, body.name, body)


def test_drawn_pairs_train_or_are_refused_before_anything_is_queued():
    found = list(itertools.islice(array(every_choice(), refusal, _drawn), 24))
    assert _failures(row for row, why in found if not why) == {}
    assert [why for _, why in found if why and ("\n" in why or why[-1] != ".")] == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_each_pair_trains_or_is_refused_before_anything_is_queued(part):
    assert _failures([row for row, why in rows() if not why][part::PARTS]) == {}


def _drawn(pair):
    return sha256(f"{SEED} {sorted(pair)}".encode()).digest()


def _failures(rows):
    wrong = {}
    for row in rows:
        try:
            weights, _ = trained(row)
        except Exception as error:
            wrong[tuple(row.values())] = f"{type(error).__name__}: {error}"
        else:
            if odd := [name for name, value in weights.items() if not value.isfinite().all()]:
                wrong[tuple(row.values())] = f"not finite: {odd}"
    return wrong


@pytest.mark.slow
def test_each_pair_occurs_no_choice_is_always_refused_and_refusals_are_sentences():
    found = rows()
    choices = every_choice()
    there = {pair for row, _ in found for pair in pairs_of(row)}
    assert len(there) == sum(len(one) * len(other) for one, other in itertools.combinations(choices.values(), 2))
    trains = {choice for row, why in found if not why for choice in row.items()}
    assert {(group, name) for group, names in choices.items() for name in names} == trains
    assert [why for _, why in found if why and ("\n" in why or why[-1] != ".")] == []


def test_an_array_refuses_only_pairs_that_no_allowed_row_has():
    choices = {group: list("abcd"[:count]) for group, count in (("one", 3), ("two", 4), ("three", 3), ("four", 2))}

    def refusal(row):
        for conflict in ({("one", "a"), ("two", "b")}, {("one", "b"), ("two", "c"), ("three", "a")}, {("two", "d")}):
            if conflict <= set(row.items()):
                return f"not {sorted(conflict)}", frozenset(conflict)
        return None

    found = list(array(choices, refusal))
    every = [dict(zip(choices, row, strict=True)) for row in itertools.product(*choices.values())]
    possible = {pair for row in every if refusal(row) is None for pair in pairs_of(row)}
    assert possible == {pair for row, why in found if not why for pair in pairs_of(row)}
    assert {pair for row in every for pair in pairs_of(row)} == {pair for row, _ in found for pair in pairs_of(row)}
    assert len([row for row, why in found if not why]) < len(every) / 2
