"""While a worker compiles, the store says so: to `status`, to `show`, and to whoever watches; training time stands."""

import json
import time

import pytest

from launch.__main__ import main
from launch.launchers.display import Rate, Watch
from launch.packs import progress
from launch.packs.leases import Leases
from launch.packs.owner import this_owner
from launch.packs.progress import Pause, noted, read_pause
from launch.work import training
from plasticity_lab import waits
from plasticity_lab.records.record import read_record
from plasticity_lab.waits import TRAINING, waiting
from tests.helpers.sweeps import never, planned, wait_until, work

COMPILING = Pause("compiling", "kernels", 12.0)

ONE = ("seed=0", "launch.workers=1")


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "FROM_SECONDS", 0.0)
    monkeypatch.setattr(progress, "LOOK_SECONDS", 0.01)


def test_a_pause_is_noted_while_it_lasts(store, at_once):
    with noted(store, "p"):
        assert read_pause(store, "p") is None
        with waiting("compiling", "kernels"):
            wait_until(lambda: read_pause(store, "p") is not None)
            pause = read_pause(store, "p")
            assert (pause.doing, pause.of) == ("compiling", "kernels")
        wait_until(lambda: read_pause(store, "p") is None)
    assert not store.pause("p").exists()


def test_a_state_is_passed_on_once_and_ends_with_training(store, at_once):
    states = []
    with noted(store, "p", states.append):
        with waiting("compiling", "kernels") as wait:
            wait_until(lambda: states == ["compiling"])
            wait.doing, wait.of = "waiting", "for another process"
            wait_until(lambda: states == ["compiling", "waiting"])
            wait_until(lambda: read_pause(store, "p").doing == "waiting")
        wait_until(lambda: states == ["compiling", "waiting", TRAINING])
        waiting_at_the_end = waiting("reading", "data")
        waiting_at_the_end.__enter__()
        wait_until(lambda: states[3:] == ["reading"])
    waiting_at_the_end.__exit__(None, None, None)
    assert states[4:] == [TRAINING], "the next pack does not begin with it"


def test_time_within_time_is_counted_once():
    before = waits.seconds_waited()
    began = time.monotonic()
    with waiting("compiling", "graphs"):
        with waiting("compiling", "kernels"):
            time.sleep(0.02)
            assert waits.current().of == "graphs"
        assert 0.02 <= waits.seconds_waited() - before <= time.monotonic() - began
    assert waits.current() is None
    assert 0.02 <= waits.seconds_waited() - before <= time.monotonic() - began


def test_time_of_compiling_is_not_time_of_training(store, monkeypatch):
    whole = training.train

    def train_after_compiling(*given):
        with waiting("compiling", "graphs"):
            time.sleep(0.5)
        return whole(*given)

    monkeypatch.setattr(training, "train", train_after_compiling)
    plan, began = planned(store, *ONE), time.monotonic()
    work(store, plan.sweep, "cpu", never)
    (run,) = plan.asked
    assert read_record(store, run)["provenance"]["pack_seconds"] <= time.monotonic() - began - 0.5


def test_a_note_of_a_worker_that_was_killed_goes(store, at_once):
    store.pack_folder("p").mkdir(parents=True)
    store.pause("p").write_text(json.dumps(vars(COMPILING)))
    with noted(store, "p"):
        wait_until(lambda: not store.pause("p").exists())


@pytest.fixture
def held(store):
    """A pack that a worker holds, which compiles."""
    (pack,) = planned(store, *ONE).packs
    lease = Leases(store, 100, this_owner()).claim([pack.id])
    store.pack_folder(pack.id).mkdir(parents=True)
    store.pause(pack.id).write_text(json.dumps(vars(COMPILING)))
    yield pack
    lease.release()


def test_status_says_that_a_pack_compiles(store, held, capsys):
    assert main(["status", "--json", "--store", str(store.root)]) == 0
    assert '"doing": "compiling"' in capsys.readouterr().out
    assert main(["status", "--store", str(store.root)]) == 0
    assert COMPILING.doing in capsys.readouterr().out.splitlines()[1]
    (sweep,) = (path.name for path in (store.root / "sweeps").iterdir())
    assert main(["status", sweep, "--store", str(store.root)]) == 0
    assert COMPILING.words in " ".join(capsys.readouterr().out.split())


def test_a_command_says_that_its_workers_compile(store, held):
    now = Watch(store, [held]).look()
    assert now.pause == COMPILING.words
    assert now.pause in Rate().words(now, 0.0)
