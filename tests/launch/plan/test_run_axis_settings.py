"""A float setting of what is built once for a whole pack: its values are never trained in one pack."""

import pytest

from tests.helpers.float_settings import planted
from tests.helpers.sweeps import all_kept, ended_packs, runs_of, trained


@pytest.mark.walk(1)
@pytest.mark.parametrize(
    "words", [["benchmark=turned", "benchmark.degrees=10,90"], ["network=scaled", "network.scale=0.5,2"]]
)
def test_each_value_in_one_command_gets_its_own_numbers(store, tmp_path, words):
    words = [planted(tmp_path), *words, "seed=0", "launch.workers=1"]
    trained(store, *words)
    assert [len(pack["runs"]) for pack in ended_packs(store)] == [1, 1]
    one, other = (each.metrics for each in all_kept(store, runs_of(*words)).values())
    assert one != other
