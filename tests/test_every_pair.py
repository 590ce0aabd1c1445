"""Every intervention, and all diagnostics, beside every head, noisy network and agent: each works or is refused.

SLOW=1 walks all pairs. `make test` walks a tenth of them, drawn by the day: PAIRS=<seed> draws the same ones again.
"""

import os
import time

import numpy as np
import pytest

from plasticity_lab.environments import bodies
from tests.helpers.every_pair import pairs, walked
from tests.helpers.made_up_bodies import CHOSEN, PICTURED, SLIDERS

SHARE = 10
DAY = 24 * 60 * 60


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    for body in (SLIDERS, CHOSEN, PICTURED):
        monkeypatch.setitem(bodies.BODIES, body.name, body)


def test_a_drawn_tenth_works_or_is_refused_before_anything_is_trained():
    seed = int(os.environ.get("PAIRS", time.time() // DAY))
    print(f"PAIRS={seed}")  # pytest shows it if the test fails
    every = pairs()
    chosen = np.random.default_rng(seed).choice(len(every), len(every) // SHARE, replace=False)
    assert dict(walked([every[number] for number in chosen])) == {}, f"PAIRS={seed} draws them again"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(SHARE))
def test_each_pair_works_or_is_refused_before_anything_is_trained(part):
    assert dict(walked(pairs()[part::SHARE])) == {}
