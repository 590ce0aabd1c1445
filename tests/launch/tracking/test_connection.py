"""What worker and companion say to each other."""

import json
import sys
from dataclasses import asdict

import pytest

from launch.tracking import client, companion
from launch.tracking.client import Answer, Tracked, described
from launch.tracking.wandb.marks import Destination
from plasticity_lab.run import Run
from tests.helpers.made_up_agent import ITS_CLASS, PLAYER

OFFLINE = Destination(False, "", "lab")
GOES_ON = "Training goes on; `python -m launch sync` writes the missing runs."


def test_an_order_that_does_not_exist_is_answered(store, tmp_path):
    answers = []
    told = companion.Companion(store, OFFLINE, "sweep", tmp_path, answers.append)
    companion.follow(told, map(json.dumps, [["__init__", []], ["vanish", [["a"]]], ["finish", [[]]]]))
    assert [bool(answer.error) for answer in answers] == [True, True, False]
    assert "vanish" in answers[1].error
    assert "finish" in answers[1].error
    assert answers[2] == Answer(finished=True)


def test_a_run_is_described_under_the_names_of_its_record():
    told = described(Run("a", {"seed": 0}, {"agent": ITS_CLASS}, [{}]), PLAYER)
    assert told == {"run": "a", "science": {"seed": 0}, "asked_as": [{}], "measures": PLAYER.as_json()}


@pytest.mark.parametrize(
    ("answers", "waiting", "reason"),
    [
        ([Answer(finished=True)], 0, None),
        ([Answer(), Answer(finished=True, failed={"a": "the disk is full."})], 0, "the disk is full"),
        ([Answer(error="there is no order 'finish'")], 1, "there is no order 'finish'"),
        ([], 1, "its process ended (broken)"),
    ],
)
def test_a_worker_knows_how_many_packs_wait_and_says_once_what_goes_wrong(
    store, caplog, monkeypatch, answers, waiting, reason
):
    lines = "".join(f"{json.dumps(asdict(answer))}\n" for answer in answers)
    script = f"import sys; sys.stdin.readline(); print({lines!r}, end=''); sys.exit({'' if answers else 'broken'!r})"
    monkeypatch.setattr(client, "named", lambda: " (of them)")
    tracked = Tracked(store, "sweep", OFFLINE, 0)
    tracked._command = [sys.executable, "-c", script]
    tracked.end([Run("a", {}, {})], recorded=True)
    assert tracked.waiting == 1
    tracked.close(stopped=False)
    assert tracked.waiting == waiting
    said = [record.message for record in caplog.records]
    assert said == ([] if reason is None else [f"W&B: {reason} (of them). {GOES_ON}"])
