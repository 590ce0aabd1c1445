"""The command from end to end, with workers in processes of their own."""

import contextlib
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from launch.command import run_command
from launch.launchers import local, local_workers
from launch.launchers.local_workers import Killed
from launch.packs.begun_otherwise import Binding, write_binding
from launch.packs.leases import Leases
from launch.packs.owner import Owner, this_owner
from launch.plan import calibration
from launch.plan.device import NO_COMPILER, NotCompiled, kind_of
from launch.work import claiming
from plasticity_lab.records.checkpoint import latest_epoch
from plasticity_lab.records.plan import write_plan
from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import (
    OFTEN,
    PATIENCE,
    SMOKE,
    after_looks,
    all_kept,
    command,
    never,
    planned,
    runs_of,
    said,
    said_last,
    trained,
    wait_until,
    work,
    workers_of,
)

pytestmark = pytest.mark.sample(1)


@pytest.fixture
def run(store, monkeypatch, capsys):
    """Runs a command here, its workers elsewhere → (exit status, what it wrote to stderr, to stdout)."""
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)

    def run(*words):
        status = run_command(said_last(*SMOKE, *OFTEN, "launch.workers=1", f"store={store.root}", *words))
        out, err = capsys.readouterr()
        return status, err, out

    return run


def test_a_sweep_is_trained_and_then_skipped_and_the_number_of_workers_changes_nothing(run, store, tmp_path):
    words = ("activation=relu,leaky_relu", "seed=0,1", "save_weights=final")
    status, err = said(store, *words, "launch.workers=2")
    assert status == 0, err
    first, *_, last, further = err.splitlines()
    assert first.endswith(f": 4 runs to train in 2 packs; 2 workers on {kind_of('cpu')}; store {store.root}")
    assert last == f"All 4 runs are finished: 4 done. Records: {store.root}"
    assert further.endswith(f"python -m analysis table --store {store.root}")
    alone = Store(tmp_path / "alone")
    trained(alone, *words, "launch.workers=1")
    assert all_kept(store, runs_of(*words)) == all_kept(alone, runs_of(*words))
    before = {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file()}
    status, err, out = run(*words)
    assert (status, out) == (0, "")
    assert err.splitlines() == [
        f"All 4 runs are finished already; rerun=true trains them again. Records: {store.root}",
        further,
    ]
    assert {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file()} == before


@pytest.fixture
def run_here(run, monkeypatch):
    """The same with a worker in this process."""

    def run_workers(store, plan, *_):
        work(store, plan.sweep, "cpu", never)
        return []

    monkeypatch.setattr(local, "run_workers", run_workers)
    return run


@pytest.mark.parametrize(("words", "ended"), [("seed=3", "done"), ("optimizer.lr=1e30", "diverged at step ")])
def test_one_run_is_told_with_its_result_and_what_tells_more(run_here, store, words, ended):
    (one,) = runs_of(words)
    *_, last, further = run_here(words)[1].splitlines()
    taoa = read_record(store, one.id)["summary"]["taoa"]
    assert all(key in last for key in (f"Run {one.id} is {ended}", str(store.run_folder(one.id))))
    assert taoa is None or f"TAOA {100 * taoa:.1f} %" in last
    assert further.endswith(f"python -m launch show {one.id} --store {store.root}")


def test_finished_runs_without_the_parameters_asked_for_are_named(run_here, store):
    run_here("seed=0")
    for more in ("dry_run=true", "dry_run=false"):
        (line,) = [line for line in run_here("seed=0,1", "save_weights=final", more)[1].splitlines() if "weig" in line]
        assert line.startswith("1 ")
        assert all(key in line for key in ("save_weights=final", "rerun=true"))
    run_here("seed=0,1", "save_weights=final", "rerun=true")
    assert "weights" not in run_here("seed=0,1", "save_weights=final")[1]
    assert all(kept.weights for kept in all_kept(store, runs_of("seed=0,1")).values())


def test_a_dry_run_prints_the_plan_and_changes_nothing(run, store):
    status, err, out = run("activation=relu,leaky_relu", "seed=0,1,2", "dry_run=true", "launch.workers=2")
    assert (status, err) == (0, "")
    assert "leaky_relu · permuted_digits" in out
    assert "6 runs to train in 2 packs; 1,620 run-steps; about 0:00:05 on 2 workers" in out
    assert not store.root.exists()
    trained(store, "seed=0", stop=lambda: True)
    before = sorted(store.root.rglob("*"))
    assert run("seed=0,1", "hyperparams=best", "dry_run=true")[0] == 0
    assert sorted(store.root.rglob("*")) == before


def test_plan_only_leaves_a_plan_that_the_same_command_trains(run, run_here, store):
    status, err, out = run("seed=0,1", "plan_only=true")
    assert status == 0
    assert "2 runs to train" in out
    assert f"2 runs planned in {store.root}, none begun; the same command without plan_only=true trains them" in err
    (sweep,) = store.root.joinpath("sweeps").iterdir()
    assert not list(store.root.joinpath("runs").iterdir())
    assert run_here("seed=0,1")[0] == 0
    assert [folder for folder in store.root.joinpath("sweeps").iterdir()] == [sweep]
    assert all(read_record(store, one.id) for one in runs_of("seed=0,1"))


def test_no_more_workers_than_packs_are_started(run, monkeypatch):
    started = []
    monkeypatch.setattr(local, "run_workers", lambda store, sweep, packs, devices, *_: started.extend(devices) or [])
    run("seed=0,1", "launch.workers=8")
    assert started == ["cpu", "cpu"]


def test_a_worker_that_cannot_start_says_why_once(run, tmp_path, monkeypatch):
    (tmp_path / "argparse.py").write_text("raise ImportError('libfoo.so is missing')")
    monkeypatch.setattr(local_workers, "for_children", lambda: {"PYTHONPATH": str(tmp_path)})
    status, err, _ = run("seed=0,1", "launch.workers=2")
    assert status == 1
    assert err.count("ImportError: libfoo.so is missing") == 1
    assert "Of 2 runs 2 not finished" in err.splitlines()[-1]


@pytest.mark.slow
def test_a_full_disk_is_said_and_the_workers_go_on_when_there_is_space(small_disk, tmp_path):
    words = ("activation=relu,leaky_relu", "seed=0,1", "launch.workers=1", "benchmark.tasks=8")
    full = Store(small_disk / "store")
    full.prepare()
    filler = small_disk / "filler"
    filler.write_bytes(bytes(4 * 2**20 - 200 * 2**10))
    lines = []
    with command(full, *words) as process:
        for line in process.stderr:
            lines.append(line)
            if "the disk is full; free some space there" in line:
                filler.unlink(missing_ok=True)
        assert process.wait(PATIENCE) == 0, "".join(lines)
    assert not filler.exists(), "it was said"
    undisturbed = Store(tmp_path / "undisturbed")
    trained(undisturbed, *words)
    assert all_kept(full, runs_of(*words)) == all_kept(undisturbed, runs_of(*words))


@pytest.mark.walk(1)
@pytest.mark.parametrize(("how", "moment"), [("Ctrl-C", "importing"), ("SIGTERM", "training")])
def test_an_interrupted_sweep_ends_quietly_and_goes_on_bit_for_bit(store, undisturbed, how, moment):
    words = ("activation=relu,rand_smooth_leaky", "seed=0,1", "launch.workers=1", "benchmark.tasks=6")
    with command(store, *words) as process:
        moments = {
            "importing": lambda: any(maps_torch(worker) for worker in workers_of(process.pid)),
            "training": lambda: any((store.root / "packs").glob("*/checkpoint.*")),
        }
        assert wait_until(moments[moment], process)
        if how == "Ctrl-C":
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGTERM)
        err = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 130
        assert workers_of(process.pid) == []
    assert "Traceback" not in err
    last = err.splitlines()[-1]
    assert last.startswith("Interrupted. The same command again continues where this one stopped. How far it is:")
    assert last.endswith(f" python -m launch status --store {store.root}")
    trained(store, *words)
    assert all_kept(store, runs_of(*words)) == undisturbed(*words)


def maps_torch(process):
    """Whether a process has begun to import torch."""
    with contextlib.suppress(OSError):
        return "libtorch" in Path(f"/proc/{process}/maps").read_text()
    return False


def test_a_pack_that_was_begun_compiled_is_kept_where_nothing_can_be_compiled(run, store, monkeypatch):
    plan = trained(store, "mode=eager", stop=after_looks(2))
    pack = plan.packs[0]
    begun = store.checkpoint(pack.id, latest_epoch(store, pack.id)).read_bytes()
    write_binding(store, pack.id, Binding(kind_of("cpu"), "compiled", pack.width))
    unlicensed = NotCompiled("no licence", "the compiler has no licence")
    monkeypatch.setattr(calibration, "not_compiled_here", lambda: unlicensed)
    status, err, _ = run()
    assert status == 1
    assert all(words in err for words in ("compiled", "the compiler has no licence", "is kept"))
    assert store.checkpoint(pack.id, latest_epoch(store, pack.id)).read_bytes() == begun


def test_what_was_planned_compiled_is_computed_eager_by_a_worker_that_cannot_compile(store, monkeypatch):
    monkeypatch.setattr(claiming, "not_compiled_here", lambda device: NO_COMPILER)
    plan = planned(store, "seed=0")
    write_plan(store, replace(plan, packs=[replace(plan.packs[0], mode="kernels")]))
    assert work(store, plan.sweep, "cpu", never)
    assert read_record(store, plan.asked[0])["provenance"]["mode"] == "eager"


def test_a_run_does_not_change_when_others_are_added_to_its_sweep(store, undisturbed):
    many = ("activation=relu,tanh,rand_smooth_leaky", "seed=0,1", "optimizer.lr=0.001,0.01", "save_weights=final")
    trained(store, *many, "launch.workers=2")
    for activation in ("relu", "rand_smooth_leaky"):
        few = (f"activation={activation}", "save_weights=final")
        (run,) = runs_of(*few)
        assert run.id in {other.id for other in runs_of(*many)}
        assert all_kept(store, [run]) == undisturbed(*few)


@pytest.fixture
def held(store):
    """Makes a process of this machine hold a pack, which is dead soon → its number."""
    store.prepare()

    def hold(pack, pid):
        lease = Leases(store, 100, Owner(this_owner().host, pid, started="then")).claim([pack])
        os.utime(store.lease(pack, lease.epoch), (1, 1))
        return pid

    return hold


def test_the_second_that_is_killed_on_a_pack_is_replaced_and_then_all_are(store, held, monkeypatch):
    monkeypatch.setattr(local_workers, "limited_memory", lambda: 640 * 2**20)
    first, second, other = held("pack", 71), held("pack", 72), held("another", 73)
    command = Killed(store, 100)
    assert command.calls_for_another(other) == ""
    assert Killed(store, 100).calls_for_another(first) == ""
    why = command.calls_for_another(second)
    assert all(words in why for words in ("2 workers", "SIGKILL", "pack", "640 MiB"))
    assert "another" in command.calls_for_another(other)
    assert Killed(store, 100).calls_for_another(99) == "", "it held no pack"
