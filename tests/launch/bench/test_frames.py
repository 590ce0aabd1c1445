"""The memory of frames of Atari is measured as an agent stores them, and has a row on the page of speeds."""

import pytest

from launch.bench import frames, page

pytest.importorskip("ale_py")
FRAME = 84 * 84


def test_a_memory_is_filled_and_goes_on_as_long_as_asked(monkeypatch):
    seen = []

    def resident():
        seen.append(held[-1].ring.end if held else None)
        return 1000 * len(seen)

    held, made = [], frames.Timed.__init__
    monkeypatch.setattr(frames, "resident", resident)
    monkeypatch.setattr(frames.Timed, "__init__", lambda self, *given: made(self, *given) or held.append(self))
    rows = {way: frames.measured("pong", 120, 40, 2, way) for way in ("always", "never")}
    assert seen == [None, 60, 80, 80, 60, 80], "rows of two environments, before the memory, full and overwritten"
    assert [row["resident_bytes"] for row in rows.values()] == 2 * [{"full": 1000, "overwritten": 2000}]
    assert [row["is_packed"] for row in rows.values()] == [True, False]
    assert rows["never"]["bytes_of_frames"] == 120 * FRAME > 5 * rows["always"]["bytes_of_frames"]
    assert all(row[time] > 0 for row in rows.values() for time in ("microseconds_to_add", "milliseconds_of_batch"))


def test_its_row_says_what_a_frame_takes():
    row = {"game": "pong", "steps": 1_000_000, "further": 250_000, "environments": 1, "is_packed": True}
    row |= {"resident_bytes": {"full": 89_000_000, "overwritten": 91_000_000}, "bytes_of_frames": 80_000_000}
    row |= {"microseconds_to_add": 10.04, "milliseconds_of_batch": 1.26}
    plain = row | {"is_packed": False, "further": 0, "steps": 1000}
    lines = list(page._frames([page.Result(2, {"replay_frames": [row, plain]}), page.Result(3, {})]))
    assert lines == [
        "| pong, 1,000,000 frames | 0.09 (0.09 after 250,000 more) | 89 | 10.0 | 1.3 | [2] |",
        "| pong, 1,000 frames, not compressed | 0.09 | 89,000 | 10.0 | 1.3 | [2] |",
    ]
