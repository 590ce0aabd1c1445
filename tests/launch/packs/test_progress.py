import json
import time
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from launch import wording
from launch.launchers.display import Progress, Rate, Watch
from launch.launchers.local_workers import Uploads
from launch.packs.progress import Reached, reached, write_progress
from launch.tracking.wandb.marks import Destination, mark_written
from launch.wording import LONGEST_SILENCE_SECONDS, Silence, said_while
from plasticity_lab.records.settings import TrackingSettings
from tests.helpers.sweeps import planned

NOTHING = Progress(runs=4, runs_done=0, run_steps=1000, run_steps_done=0, diverged=0, failed=0)


def at(steps, **others):
    return replace(NOTHING, run_steps_done=steps, **others)


def journal(steps, *diverged, **lately):
    return SimpleNamespace(steps=steps, diverged=np.array(diverged), lately=lambda: lately)


def test_the_rate_counts_from_the_first_step_not_from_the_start_of_the_workers():
    rate = Rate()
    assert rate.words(at(0), 0.0) == "0 of 4 runs · 0 %"
    assert rate.words(at(0), 100.0) == "0 of 4 runs · 0 % · no step seen yet, 0:01:40 so far"
    assert rate.words(at(100), 101.0) == "0 of 4 runs · 10 %"
    assert Rate().words(at(999, diverged=2, failed=1), 0.0) == "0 of 4 runs · 99 % · 2 diverged · 1 failed"
    now = at(300, runs_done=1, left=35.2)
    assert rate.words(now, 111.0) == "1 of 4 runs · 30 % · 20 run-steps/s · 0:00:35 left"


def test_what_an_earlier_command_did_is_not_this_ones_speed():
    rate = Rate()
    rate.words(at(500), 0.0)
    rate.words(at(510), 1.0)
    assert rate.words(at(530), 11.0).endswith("53 % · 2 run-steps/s")


def test_the_rate_begins_anew_where_a_pack_goes_on_from_behind_where_it_was_seen():
    rate = Rate()
    for steps, moment in ((500, 0.0), (510, 1.0), (200, 2.0), (200, 3.0)):
        words = rate.words(at(steps), moment)
    assert words == "0 of 4 runs · 20 %"
    rate.words(at(210), 4.0)
    assert rate.words(at(230), 14.0).endswith("2 run-steps/s")


def test_runs_are_counted_as_the_workers_write_them_to_wandb(store):
    plan = planned(store, "activation=relu,tanh", "seed=0,1", "launch.workers=1")
    tracking = {"project": "lab", "entity": None, "live_runs": 0}
    online = Uploads(store, TrackingSettings(backend="wandb_online", **tracking))
    assert online.words(plan.packs) == "writing them to W&B: 0 of 4 runs"
    mark_written(store, plan.packs[0].id, Destination(True, "", "lab"), plan.packs[0].runs)
    mark_written(store, plan.packs[1].id, Destination(False, "", "lab"), plan.packs[1].runs)
    assert online.words(plan.packs) == online.words(plan.packs) == "writing them to W&B: 2 of 4 runs"
    assert Uploads(store, TrackingSettings(backend="store", **tracking)).words(plan.packs) == "the workers are ending"


def test_packs_adopted_from_an_earlier_sweep_count_as_far_as_they_are(store):
    planned(store, "activation=relu", "seed=0,1,2", "launch.workers=1")
    plan = planned(store, "activation=relu,tanh", "seed=2", "launch.workers=1")
    adopted, own = plan.packs
    watch = Watch(store, plan.packs)
    assert watch.look() == Progress(4, 0, 4 * 270, 0, 0, 0)
    assert reached(store, adopted.id) == Reached(0, 0, 0.0)
    write_progress(store, adopted.id, Reached(90, 1, 4.5))
    assert reached(store, adopted.id) == Reached(90, 1, 4.5)
    assert watch.look() == Progress(4, 0, 4 * 270, 3 * 90, 1, 0)
    store.done(own.id).write_text(json.dumps({"status": "failed", "error": "by nought"}))
    assert watch.look() == Progress(4, 0, 4 * 270, 3 * 90 + 270, 1, 1)
    store.done(adopted.id).write_text(json.dumps({"status": "done", "diverged": 2}))
    assert watch.look() == Progress(4, 3, 4 * 270, 4 * 270, 2, 1, left=0)


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
