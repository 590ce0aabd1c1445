from launch.plan.makespan import makespan


def test_a_worker_takes_the_next_pack_when_it_is_free():
    assert makespan([0, 0], [5, 3, 2]) == 5
    assert makespan([0] * 16, [11] + [8] * 16) == 16, "seventeen packs on sixteen workers: one worker takes two"
    assert makespan([10, 1], [4]) == 10
    assert makespan([3], []) == 3
