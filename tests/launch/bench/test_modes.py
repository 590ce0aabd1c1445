"""Whole commands in turns: each once before it counts, and what is written of them. Nothing here measures time."""

from launch.bench import modes
from tests.helpers.sweeps import planned


def test_the_situations_are_short_and_long_runs_with_the_updates_that_are_said(store):
    updates = {}
    for name, words in modes.SITUATIONS.items():
        length = [] if "schedule=demo" in words else ["schedule=full"]  # the helper's own is schedule=smoke
        updates[name] = planned(store, *length, *words).packs[0].updates
    assert updates == {"mlp-short": 1_800, "mlp-long": 10_800, "cnn": 6_540, "ppo": 2_400}
