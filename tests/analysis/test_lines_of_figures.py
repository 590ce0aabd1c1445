"""Lines of figures: what they look like, and where their names stand."""

from itertools import pairwise

import pytest

from analysis.figures.end_labels import spread
from analysis.figures.style import looks
from analysis.names import ACTIVATIONS


def test_all_activations_look_different_and_the_same_in_every_figure():
    known = looks([(name, name) for name in ACTIVATIONS])
    assert len(set(known.values())) == len(ACTIVATIONS)
    few = looks([("a (beta=1)", "swish"), ("mine", "mine"), ("tanh", "tanh"), ("a (beta=2)", "swish")])
    assert few["tanh"] == known["tanh"]
    assert few["a (beta=1)"] == known["swish"]
    assert len(set(few.values())) == 4
    many = looks([(f"relu (lr={number})", "relu") for number in range(50)])
    assert len(many) == 50


@pytest.mark.parametrize("wanted", [[0.5, 0.5, 0.5], [0.99, 1.0, 0.0], [0.1, 0.9], []])
def test_names_at_the_ends_of_lines_do_not_cover_each_other(wanted):
    places = spread(wanted, 0.1)
    ordered = sorted(places)
    assert all(after - before > 0.0999 for before, after in pairwise(ordered))
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)
    assert [wanted[places.index(place)] for place in ordered] == sorted(wanted)
