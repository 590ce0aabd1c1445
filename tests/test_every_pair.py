"""Every intervention, and all diagnostics, beside every head, noisy network and agent: each works or is refused.

SLOW=1 walks all pairs, in ten parts. `make test` walks a few of them, drawn by the day: PAIRS=<seed> draws them again.
"""

import os
import time

import numpy as np
import pytest

from plasticity_lab.environments import bodies
from tests.helpers.every_pair import pairs, walked
from tests.helpers.made_up_bodies import CHOSEN, PICTURED, SLIDERS

PARTS = 10
DRAWN = 60
"""One pair in so many is drawn."""
DAY = 24 * 60 * 60


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    for body in (SLIDERS, CHOSEN, PICTURED):
        monkeypatch.setitem(bodies.BODIES, body.name, body)


def test_a_drawn_pair_works_or_is_refused_before_anything_is_trained():
    seed = int(os.environ.get("PAIRS", time.time() // DAY))
    print(f"PAIRS={seed}")  # pytest shows it if the test fails
    every = pairs()
    chosen = np.random.default_rng(seed).choice(len(every), len(every) // DRAWN, replace=False)
    assert dict(walked([every[number] for number in chosen])) == {}, f"PAIRS={seed} draws them again"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_each_pair_works_or_is_refused_before_anything_is_trained(part):
    assert dict(walked(pairs()[part::PARTS])) == {}
