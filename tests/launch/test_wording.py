"""Lines on stderr while something takes long."""

import time

import pytest

from launch import wording
from launch.wording import said_while


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


def test_what_takes_no_time_is_not_said_and_errors_pass(capsys):
    with pytest.raises(ZeroDivisionError), said_while("Planning"):
        raise ZeroDivisionError
    assert lines(capsys) == []
