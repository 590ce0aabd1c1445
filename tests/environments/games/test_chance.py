"""Numbers drawn for many games at once: the published sequence, their law, and that no game depends on another."""

import numpy as np
from scipy import stats

from plasticity_lab.environments.games.board import Chance

PUBLISHED = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
"""SplitMix64's first numbers from the seed 1234567 (Vigna's reference implementation)."""


def begun(keys) -> Chance:
    chance = Chance(len(keys))
    chance.begin(np.arange(len(keys)), np.array(keys, np.uint64))
    return chance


def test_they_are_splitmix64s():
    chance = begun([1234567])
    assert [chance.uniform()[0] for _ in PUBLISHED] == [(number >> 11) * 2.0**-53 for number in PUBLISHED]


def test_they_are_uniform_over_games_and_over_time():
    chance = begun(range(50))
    drawn = np.stack([chance.uniform() for _ in range(200)])
    for counts in (np.histogram(drawn, 20, (0, 1))[0], np.histogram(drawn[:, 3], 10, (0, 1))[0]):
        assert stats.chisquare(counts).pvalue > 0.01
    assert abs(np.corrcoef(drawn[:-1, 0], drawn[1:, 0])[0, 1]) < 0.2
    assert set(chance.integers(3)) == {0, 1, 2}
