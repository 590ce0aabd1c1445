"""Files of a store damaged one at a time: noticed, named, and mended or made again; no word of Python is seen."""

import json
import re
import shutil

import pytest

from analysis.__main__ import main as analysis
from launch.__main__ import main
from launch.command import run_command
from launch.launchers import local
from launch.plan.calibration import write_calibration
from launch.plan.device import kind_of
from launch.plan.speed import AVX2
from launch.tracking.wandb.marks import Destination, mark_written
from plasticity_lab.records.kinds import device_name
from plasticity_lab.records.store import Store
from tests.helpers.slurm_files import given_to_slurm
from tests.helpers.sweeps import SMOKE, after_looks, all_kept, never, runs_of, said_last, trained, work

CPU = AVX2

SHORT = ("launch.workers=1", "launch.lease_seconds=0.3", "benchmark.images=96")
ENDED = ("seed=0,1", "save_weights=final", *SHORT)
BEGUN = ("seed=5,6", *SHORT)
PYTHON = re.compile(r"Traceback|[a-z](Error|Exception)\b|indices must|NoneType|object (is|has)|'(dict|list|str)'|codec")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store with a sweep that has ended and one that was stopped → the store, their plans, the runs' numbers."""
    store = Store(tmp_path_factory.mktemp("whole") / "store")
    ended = trained(store, *ENDED)
    begun = trained(store, *BEGUN, stop=after_looks(4))
    write_calibration(store, kind_of("cpu"), CPU, {})
    given_to_slurm(store, ended.sweep, {"60": 1})
    mark_written(store, ended.packs[0].id, Destination(True, "team", "lab"), ended.asked)
    elsewhere = Store(tmp_path_factory.mktemp("elsewhere"))
    trained(elsewhere, *ENDED)
    trained(elsewhere, *BEGUN)
    return store, ended, begun, all_kept(elsewhere, [*runs_of(*ENDED), *runs_of(*BEGUN)])


FILES = {
    "record": lambda store, ended, begun: store.record(ended.asked[0]),
    "metrics": lambda store, ended, begun: store.metrics(ended.asked[0]),
    "weights": lambda store, ended, begun: store.weights(ended.asked[0]),
    "plan of the ended": lambda store, ended, begun: store.plan(ended.sweep),
    "plan of the begun": lambda store, ended, begun: store.plan(begun.sweep),
    "submission": lambda store, ended, begun: store.submissions_folder(ended.sweep) / "1.json",
    "outcome of a submission": lambda store, ended, begun: store.submissions_folder(ended.sweep) / "1.outcome.json",
    "calibration": lambda store, ended, begun: store.calibration(device_name(kind_of("cpu"))),
    "ending": lambda store, ended, begun: store.done(ended.packs[0].id),
    "marks of W&B": lambda store, ended, begun: store.tracked(ended.packs[0].id),
    "lease": lambda store, ended, begun: store.lease(begun.packs[0].id, 0),
    "progress": lambda store, ended, begun: store.progress(begun.packs[0].id),
    "checkpoint": lambda store, ended, begun: store.checkpoint(begun.packs[0].id, 0),
}
OF_BEGUN = ("plan of the begun", "lease", "progress", "checkpoint")


def other_values(content):
    """JSON with lists in the place of all values; of what is no JSON, nothing like it."""
    try:
        return json.dumps({key: [[0]] for key in json.loads(content)}).encode()
    except ValueError:
        return b"{}"


DAMAGE = {
    "cut": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "a list": lambda content: b"[1, 2]",
    "other values": other_values,
    "a folder": None,
}


@pytest.fixture
def damaged(whole, tmp_path):
    """Copies the store and damages one of its files → the copy, and the file."""

    def damaged(file, damage):
        original, ended, begun, _ = whole
        store = Store(tmp_path / "store")
        shutil.copytree(original.root, store.root)
        path = FILES[file](store, ended, begun)
        content = path.read_bytes()
        path.unlink()
        if damage == "a folder":
            path.mkdir()
        else:
            path.write_bytes(DAMAGE[damage](content))
        return store, path

    return damaged


@pytest.fixture
def say(monkeypatch, capfd, caplog):
    """Gives a command, whose workers work in this process → its exit status, and all it has printed."""

    def run_workers(store, plan, *_):
        work(store, plan.sweep, "cpu", never)
        return []

    def say(command, *words):
        caplog.clear()
        status = command(list(words))
        printed = "".join(capfd.readouterr()) + caplog.text
        assert not PYTHON.search(printed), printed
        return status, printed

    monkeypatch.setattr(local, "run_workers", run_workers)
    return say


BINARY = ("metrics", "weights", "checkpoint")
"""Of these, whatever bytes are not theirs are one kind of damage; and of JSON, an empty file is what half of one is."""
CASES = [
    pytest.param(file, damage, marks=pytest.mark.slow if alike else ())
    for file in FILES
    for damage in DAMAGE
    for alike in [damage in (("a list", "other values") if file in BINARY else ("empty",))]
]


@pytest.mark.walk(6)
@pytest.mark.parametrize(("file", "damage"), CASES)
def test_damage_is_named_and_the_same_command_mends_it(whole, damaged, say, file, damage):
    _, ended, begun, numbers = whole
    store, path = damaged(file, damage)
    words, other = (BEGUN, ended) if file in OF_BEGUN else (ENDED, begun)
    status, printed = say(main, "status", "--store", str(store.root))
    assert status == 1
    assert str(path) in printed
    assert other.sweep in printed, "the rest is shown"
    status, printed = say(run_command, *said_last(*SMOKE, *words), f"store={store.root}")
    assert status == 0, printed
    assert str(path) in printed
    assert all_kept(store, runs_of(*words)).items() <= numbers.items()
    assert say(main, "status", "--store", str(store.root))[0] == 0


@pytest.mark.walk(1)
@pytest.mark.parametrize("file", FILES)
def test_commands_that_look_go_on_and_change_nothing(whole, damaged, say, tmp_path, file):
    _, ended, begun, _ = whole
    store, path = damaged(file, "a list")
    there = ("--store", str(store.root))
    before = sorted(store.root.rglob("*"))
    picture = ("--out", str(tmp_path / "curve.png"))
    looks = (["show", begun.asked[0], *picture], ["show", ended.asked[0], *picture], ["logs", ended.asked[0]])
    for words in (*looks, ["estimate", begun.sweep], ["sync", "--dry-run"]):
        say(main, *words, *there)
    say(analysis, "table", *there, "--out", str(tmp_path / "tables"))
    dry = say(run_command, *said_last(*SMOKE, *ENDED), f"store={store.root}", "dry_run=true")
    assert dry[0] == 0
    assert (str(path) in dry[1]) == (file not in OF_BEGUN or file == "plan of the begun")
    assert sorted(store.root.rglob("*")) == before
