"""The boards and the scores on docs/pages/reference/environments.md are those that the commands print."""

import csv
import re
from pathlib import Path

import pytest

from plasticity_lab.environments.__main__ import main
from plasticity_lab.environments.games import scores
from plasticity_lab.environments.games.board import ACTIONS
from plasticity_lab.environments.games.games import GAMES
from tests.docs.pages import ROOT, fences

PAGE = (ROOT / "docs/pages/reference/environments.md").read_text()
SHOWN = [content for language, content in fences(PAGE) if language == "text"]
TITLE = re.compile(r"(\w+), after (\d+) steps of the (\w+) policy")


def test_there_is_one_of_each_game():
    assert [TITLE.match(content)[1] for content in SHOWN] == [*GAMES]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.partition(",")[0])
def test_a_board_is_what_the_command_prints(shown, capsys):
    game, steps, policy = TITLE.match(shown).groups()
    assert main(["show", game, "--steps", steps, "--policy", policy]) == 0
    assert capsys.readouterr().out == shown


def test_actions_and_scores_are_those_of_the_games():
    with open(Path(scores.__file__).parent / "scores.csv", newline="") as file:
        measured = {line["game"]: line for line in csv.DictReader(file)}
    for name, game in GAMES.items():
        (row,) = re.findall(rf"^\| `{name}` \| ([^|]*) \|[^|]*\| ([^|]*) \| ([^|]*) \|$", PAGE, re.MULTILINE)
        assert row[0].split(", ") == [ACTIONS[action] for action in game.actions]
        for cell, policy in zip(row[1:], ("random", "scripted"), strict=True):
            for number, said in zip((policy, f"{policy}_standard_error"), cell.split(" ± "), strict=True):
                places = len(said.partition(".")[2])
                assert float(said) == round(float(measured[name][number]), places)
