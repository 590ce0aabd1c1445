"""Lines on stderr while something takes long."""

import time
from itertools import pairwise

import pytest

from launch import wording
from launch.wording import LONGEST_SILENCE_SECONDS, Silence, said_while


def lines(capsys) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_what_takes_long_is_said_until_it_ends(capsys, monkeypatch):
    monkeypatch.setattr(wording, "FIRST_WORD_SECONDS", 0.01)
    with said_while("Planning"):
        while not (said := lines(capsys)):
            time.sleep(0.01)
    assert said[0].startswith("Planning")
    lines(capsys)
    time.sleep(0.1)
    assert lines(capsys) == []


def test_lines_on_one_wait_come_after_growing_silences(monkeypatch):
    monkeypatch.setattr(wording, "FIRST_WORD_SECONDS", 4.0)
    silence = Silence()
    said = [waited for waited in range(400) if silence.is_over(waited)]
    pauses = [after - before for before, after in pairwise([0, *said])]
    assert said[0] == 4
    assert pauses == sorted(pauses)
    assert pauses[-1] == pauses[-2] == LONGEST_SILENCE_SECONDS


def test_what_takes_no_time_is_not_said_and_errors_pass(capsys):
    with pytest.raises(ZeroDivisionError), said_while("Planning"):
        raise ZeroDivisionError
    assert lines(capsys) == []
