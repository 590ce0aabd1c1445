from launch.last_end import last_end


def test_a_worker_takes_the_next_pack_when_it_is_free():
    assert last_end([0, 0], [5, 3, 2]) == 5
    assert last_end([0] * 16, [11] + [8] * 16) == 16, "seventeen packs on sixteen workers: one worker takes two"
    assert last_end([10, 1], [4]) == 10
    assert last_end([3], []) == 3
