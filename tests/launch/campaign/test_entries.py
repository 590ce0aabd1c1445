"""The entries of a campaign: the file, what is begun in which time, and the state that is carried along."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from launch.campaign import entry as entries
from launch.campaign.entry import Entry, filled
from launch.campaign.prices import differing, never
from launch.campaign.state import BEGUN, DONE, FAILED, LOST, PART, TRIES, State
from plasticity_lab.errors import ConfigError, StoreError

ROOT = Path(__file__).parents[3]
GOOD = {"name": "one", "question": "?", "minutes": 2, "from": "a limit", "commands": ["true"], "leaves": "nothing"}


def written(path, *lines):
    path.write_text(yaml.safe_dump(list(lines)), encoding="utf-8")
    return path


def entry(name, minutes=2.0, sweeps=(), **fields):
    commands = () if sweeps else ("true",)
    return Entry(name, "?", minutes, "nothing", source="a limit", commands=commands, sweeps=sweeps, **fields)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"minutes": 0}, "minutes is 0"),
        ({"commands": ["true", 3]}, "must be one text"),
        ({"commands": []}, "needs commands or sweeps"),
        ({"from": ""}, "origin of its minutes"),
        ({"needs": ["mnsit"]}, "mnsit, which is none of mnist"),
        ({"minuets": 3}, "minuets; fields are"),
        ({"workers": "two"}, "workers is 'two'"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path, change, says):
    assert entries.read(written(tmp_path / "good.yaml", GOOD))[0].minutes == 2
    with pytest.raises(ConfigError, match=says):
        entries.read(written(tmp_path / "plan.yaml", GOOD | change))


@pytest.mark.parametrize("text", ["", "- question: ?\n", "entries: [", "- {name: one}\n"])
def test_a_file_without_entries_is_named(tmp_path, text):
    (tmp_path / "plan.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"plan\.yaml|cannot be read"):
        entries.read(tmp_path / "plan.yaml")
    with pytest.raises(ConfigError, match="one comes twice"):
        entries.read(written(tmp_path / "plan.yaml", GOOD, GOOD))


def test_every_minute_of_our_plan_has_an_origin_and_replay_memories_do_not_travel():
    found = entries.read()
    assert sum(each.minutes for each in found[:4]) <= 14, "the measurements come first, in one campaign"
    for each in found:
        assert each.source or each.plan
        words = " ".join(each.sweeps)
        assert each.whole or not any(agent in words for agent in ("sac", "games", "rainbow", "dqn")), each.name
        assert not each.plan or [each.plan] == list(each.sweeps), "the plan is of the sweep that is trained"


def test_the_commands_of_our_plan_are_ones_that_the_bench_knows():
    values = {"python": "python", "device": "cuda", "out": "out", "store": "store", "data": ""}
    commands = [filled(each, part, values, 1) for each in entries.read() for part in range(len(each.commands))]
    benches = [words[3:] for words in commands if words[1:3] == ["-m", "launch.bench"]]
    assert len(benches) >= 8
    for words in benches:
        assert bench()(words).device == "cuda"
    (tests,) = (words for words in commands if "pytest" in words)
    chosen = subprocess.run([sys.executable, *tests[1:], "--collect-only"], capture_output=True, text=True, cwd=ROOT)
    assert chosen.stdout.count("tests/cuda/test_on_a_gpu.py::") >= 5


def bench():
    from launch.bench.__main__ import _parser

    return _parser().parse_args


@pytest.mark.slow
def test_the_minutes_of_studies_are_those_of_their_plans():
    assert differing(entries.read()) == []


def test_every_entry_of_our_plan_can_begin_in_a_campaign_of_fourteen_minutes():
    found = entries.read()
    assert never(found, 14) == []
    long = entry("long", 13.4, sweeps=("a=1",), whole=True)
    assert [line.split(":")[0] for line in never([long, entry("study", 90.0, sweeps=("a=1",))], 14)] == ["long"]
    assert never([long], 15) == []


@pytest.mark.parametrize(
    ("changes", "open_"),
    [
        ({"status": DONE}, False),
        ({"status": PART}, True),
        ({"status": FAILED, "tries": TRIES - 1}, True),
        ({"status": FAILED, "tries": TRIES}, False),
        ({"status": BEGUN, "lost": LOST - 1}, True),
        ({"status": BEGUN, "lost": LOST}, False),
    ],
)
def test_an_entry_is_open_until_it_is_done_or_failed_too_often(tmp_path, changes, open_):
    known, one = State(tmp_path / "state.json"), entry("one")
    known.set(one, **changes)
    again = State.of(known.path)
    assert again.is_open(one) is open_
    assert again.is_open(Entry("one", "?", 2.0, "nothing", commands=("false",))), "other commands: another entry"


@pytest.mark.parametrize("content", ["", "{}", '{"entries": {"one": {"at": 1, "odd": 2}}, "campaigns": []}', "[]"])
def test_a_file_that_is_no_state_is_left_alone(tmp_path, content):
    path = tmp_path / "state.json"
    path.write_text(content)
    with pytest.raises(StoreError, match="no state of a campaign"):
        State.of(path)
    assert path.read_text() == content


def test_the_words_of_commands_and_sweeps():
    values = {"python": "py", "device": "cuda", "out": "/o p", "store": "/s", "data": "/d"}
    both = Entry("both", "?", 1, "", commands=("{python} -m x --out {out}/a 'b c'",), sweeps=("seed=0,1 'a=b c'",))
    assert filled(both, 0, values, 4) == ["py", "-m", "x", "--out", "/o p/a", "b c"]
    assert filled(both, 1, values, 4) == [
        "py", "-m", "plasticity_lab.main", "seed=0,1", "a=b c", "device=cuda", "store=/s", "launch.workers=4",
        "data=/d", "checkpoint_minutes=1",
    ]  # fmt: skip
    assert "data=" not in " ".join(filled(both, 1, values | {"data": ""}, 4))
