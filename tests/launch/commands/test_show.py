"""What `python -m launch show` tells of one run, and draws."""

import struct
import time

import pytest
import yaml

from launch.__main__ import main
from launch.packs.leases import Leases
from launch.packs.owner import this_owner
from plasticity_lab.agents.ppo.agent import PPO_MEASURES
from plasticity_lab.records.record import new_record, write_metrics, write_record
from tests.helpers.made_up_agent import PLAYER, rollouts
from tests.helpers.sweeps import after_looks, planned, runs_of, trained

pytestmark = pytest.mark.sample(7)

ONE = ("launch.workers=1",)


@pytest.fixture
def show(store, capsys):
    """Shows a run → (exit status, what was printed, what was said on stderr)."""

    def show(*words):
        code = main(["show", *map(str, words), "--store", str(store.root)])
        return code, *capsys.readouterr()

    return show


def pixels(path):
    """Width and height of a PNG."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xaeB`\x82")
    return struct.unpack(">II", content[16:24])


def test_a_finished_run_is_shown_whole_with_its_curve_in_letters_or_as_a_picture(store, show, tmp_path):
    trained(store, "seed=0,1", *ONE)
    ours = runs_of("seed=1")[0]
    code, out, err = show(ours.id[:6])
    assert (code, err) == (0, "")
    first, _, rest = out.partition("\n")
    assert first == f"Run {ours.id}: done"
    told, _, curve = rest.partition("\n\n")
    told = yaml.safe_load(told)
    assert told["science"] == ours.science
    assert told["asked_as"] == ours.asked_as
    assert told["summary"]["parameters"] == 17_610
    assert told["provenance"]["width"] == 2
    assert "Online accuracy of an epoch" in curve
    assert "\x1b[" not in curve
    path = tmp_path / "curve.png"
    assert show(ours.id, "--out", str(path))[1].splitlines()[-1] == f"Curve: {path}"
    assert pixels(path) == (1200, 900)
    assert not [*store.root.rglob("*.png")]


@pytest.mark.parametrize(
    ("summary", "flags", "key"),
    [
        ({"final_return": None, "episodes": 0}, {"no_episode": True}, "episode"),
        ({"final_return": None, "episodes": 3}, {}, "final_return"),
        ({"final_return": 2.0, "episodes": 3, "tasks": 4, "tasks_with_episodes": 2}, {}, "2 of 4"),
    ],
)
def test_a_run_that_is_done_and_lacks_numbers_says_which(store, show, summary, flags, key):
    (run,) = runs_of("seed=0")
    files = {"metrics.parquet": write_metrics(store, run.id, PPO_MEASURES.schema.empty_table())}
    told = {"summary": summary, "flags": flags, "measures": PPO_MEASURES.as_json(), "files": files}
    write_record(store, new_record(run, "done", {}, **told))
    first = show(run.id)[1].splitlines()[0]
    assert first.startswith(f"Run {run.id}: done")
    assert key in first


def test_an_unfinished_run_is_shown_as_far_as_its_last_checkpoint(store, show):
    plan = planned(store, "seed=0,1", *ONE)
    (pack,) = plan.packs
    out = show(pack.runs[1])[1]
    assert out.startswith(f"Run {pack.runs[1]}: waiting: ")
    assert plan.sweep in out.splitlines()[0]
    assert f"pack:\n  id: {pack.id}\n  runs: 2\n  length: 270 steps\n" in out
    assert out.endswith("Nothing has been measured yet: no epoch has ended.\n")
    trained(store, "seed=0,1", *ONE, stop=after_looks(4))
    Leases(store, 1000, this_owner()).claim([pack.id])
    out = show(pack.runs[1])[1]
    assert out.startswith(f"Run {pack.runs[1]}: in training by {this_owner()}\n")
    assert "Online accuracy of an epoch" in out


def test_a_run_is_followed_in_the_terminal_until_it_has_ended(store, show, monkeypatch):
    plan = planned(store, "seed=0,1", *ONE)
    waits = []

    def train_meanwhile(seconds):
        waits.append(seconds)
        trained(store, "seed=0,1", *ONE)

    monkeypatch.setattr(time, "sleep", train_meanwhile)
    monkeypatch.setenv("COLUMNS", "90")
    code, out, _ = show(plan.asked[1], "--follow", "--every", "3")
    assert (code, waits) == (0, [3.0])
    assert f"Run {plan.asked[1]}: done" in out
    assert "relu · permuted_digits · seed" in out
    assert "Online accuracy of an epoch" in out
    assert any("⠉" <= sign <= "⣿" for sign in out), "a line of dots"
    assert max(map(len, out.splitlines())) <= 90
    assert "\x1b[" not in out
    assert "no time in seconds" in show(plan.asked[1], "--follow", "--every", "0")[2]


def test_a_run_of_an_agent_that_has_episodes_is_shown_by_what_its_record_declares(store, show, tmp_path):
    """From its journal to its picture; the command needs nothing of the agent's own."""
    store.prepare()
    (ours,), journal = runs_of("seed=0"), rollouts([2])
    table = journal.table(0)
    files = {store.metrics(ours.id).name: write_metrics(store, ours.id, table)}
    flags, summary = PLAYER.flags(table, {"bodies": 2}), PLAYER.summarise(table)
    write_record(
        store, new_record(ours, "done", {}, summary=summary, flags=flags, measures=PLAYER.as_json(), files=files)
    )
    code, out, err = show(ours.id, "--out", str(tmp_path / "curve.png"))
    assert (code, err) == (0, "")
    first, *told, _ = out.splitlines()
    assert first == f"Run {ours.id}: done, stuck"
    assert yaml.safe_load("\n".join(told))["summary"] == {"mean_return": summary["mean_return"], "regret": 21.0}
    assert pixels(tmp_path / "curve.png") == (1200, 1350), "points, steps, nats"


def test_a_diverged_run_says_when(store, show):
    plan = trained(store, "optimizer.lr=1e30")
    code, out, _ = show(plan.asked[0])
    assert code == 0
    assert out.startswith(f"Run {plan.asked[0]}: diverged at step ")
    assert out.endswith("Nothing was measured: the run ended before an epoch did.\n")
