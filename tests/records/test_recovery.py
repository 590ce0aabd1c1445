"""How soon a game is played as well again, worked out by hand."""

import pyarrow as pa
import pytest

from plasticity_lab.agents.acting.measures import summarise
from plasticity_lab.records.stage_returns import Recovery, recoveries


def table(*tasks: tuple[int, list[float]]) -> pa.Table:
    """Tasks of 100 steps in turn, (body, returns of episodes that end at equal distances), two bodies a cycle."""
    rows = []
    for task, (body, returns) in enumerate(tasks):
        place = {"task": task, "body": body, "cycle": task // 2}
        every = 100 // max(1, len(returns))
        rows += [
            {"kind": "episode", **place, "step": task * 100 + (number + 1) * every, "return": value, "length": 1.0}
            for number, value in enumerate(returns)
        ]
        rows.append({"kind": "task", **place, "step": (task + 1) * 100})
    names = ("kind", "task", "body", "cycle", "step", "return", "length", "test_return")
    return pa.Table.from_pylist([{name: row.get(name, float("nan")) for name in names} for row in rows])


LEARNED = [0.0] * 10 + [6.0] * 10
"""An episode every five steps; the last part earns 6."""


def test_the_first_ten_episodes_that_earn_as_much_end_it():
    # Zeros first: the mean of ten is 6 where the last zero is ten episodes back, at the 15th episode.
    again = [0.0] * 5 + [6.0] * 15
    found = recoveries(table((0, LEARNED), (1, LEARNED), (0, again), (1, LEARNED)))
    assert found == [Recovery(2, 0, 1, 75), Recovery(3, 1, 1, 100)]


def test_who_never_earns_as_much_has_not_recovered():
    worse = [5.9] * 20
    found = recoveries(table((0, LEARNED), (1, LEARNED), (0, worse), (1, [7.0] * 20)))
    assert found == [Recovery(2, 0, 1, None), Recovery(3, 1, 1, 50)]
    assert recoveries(table((0, LEARNED), (1, LEARNED))) == []
    assert recoveries(table((0, LEARNED), (1, []), (0, LEARNED[10:]), (1, LEARNED)))[1:] == [], "nothing to reach"


@pytest.mark.parametrize("broken", [float("-inf"), float("inf"), float("nan")])
def test_a_visit_whose_return_is_not_finite_is_passed_over(broken):
    """Nothing can be said to come up to it: what the visit before it earned has to be reached."""
    found = recoveries(table((0, LEARNED), (1, LEARNED), (0, [broken] * 20), (1, LEARNED), (0, [5.9] * 20)))
    assert found[-1] == Recovery(4, 0, 2, None)


def test_episodes_of_another_visit_do_not_count():
    """Nine episodes, after a visit of the other body that earned far more."""
    found = recoveries(table((0, LEARNED), (1, [90.0] * 20), (0, [6.0] * 9)))
    assert found == [Recovery(2, 0, 1, None)]


def test_the_summary_has_the_last_cycles():
    own = summarise(table((0, LEARNED), (1, LEARNED), (0, [5.9] * 20), (1, [7.0] * 20)))
    assert (own["recovery_last_cycle"], own["recovered_last_cycle"]) == (50.0, 0.5)
    once = summarise(table((0, LEARNED), (1, LEARNED)))
    assert (once["recovery_last_cycle"], once["recovered_last_cycle"]) == (None, None)
    assert once["final_return"] == pytest.approx(6)
