"""A worker in this process: what it does with the packs of a plan, and what it leaves to others."""

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from launch.packs.leases import Leases, LostLease
from launch.packs.owner import Owner, this_owner
from launch.plan.device import kind_of
from launch.work import claiming, training, worker
from launch.work.patience import Heartbeat
from launch.work.process import DeviceLost, free_memory, prepare_compiling, ran_out_of_memory
from plasticity_lab.errors import DataError, StoreError
from plasticity_lab.records.checkpoint import load_checkpoint, save_checkpoint
from plasticity_lab.records.record import read_record
from tests.helpers.sweeps import after_looks, all_kept, ended_packs, kept, never, planned, runs_of, trained, work

pytestmark = pytest.mark.sample(3)

OTHER = Owner("elsewhere", 1)


def leased(store):
    return [path.name for path in store.leases_folder.iterdir()]


def test_a_trained_pack_leaves_records_and_nothing_else(store):
    plan = trained(store, "seed=0,1", "launch.workers=1")
    (pack,) = plan.packs
    for run in pack.runs:
        record = read_record(store, run)
        where = record["provenance"]
        assert record["status"] == "done"
        assert (where["pack"], where["width"], where["share"], where["mode"]) == (pack.id, 2, 0.5, "eager")
        assert (where["device"], where["data"], where["data_part"]) == (kind_of("cpu"), "digits", False)
        assert record["summary"]["seconds"] == pytest.approx(where["pack_seconds"] / 2)
        assert kept(store, run).metrics.count(b"task") == 3
    assert leased(store) == []
    assert list((store.root / "packs").iterdir()) == []


def test_a_stopped_worker_gives_its_pack_back_and_another_goes_on_bit_for_bit(store, tmp_path):
    runs = runs_of("seed=0,1", "save_weights=final")
    words = ("seed=0,1", "launch.workers=1", "save_weights=final")
    undisturbed = type(store)(tmp_path / "undisturbed")
    trained(undisturbed, *words)
    plan = trained(store, *words, stop=after_looks(4))
    (pack,) = plan.packs
    assert read_record(store, runs[0].id) is None
    begun = load_checkpoint(store, pack.id)
    assert 0 < begun["journal"]["steps"] < pack.steps
    assert leased(store) == [f"{pack.id}.0"], "given back, not taken away"
    assert Leases(store, 1000, OTHER).state([pack.id])[pack.id].state == "waiting"
    time.sleep(1.1)
    work(store, plan.sweep, "cpu", never)
    assert all_kept(store, runs) == all_kept(undisturbed, runs)
    record = read_record(store, runs[0].id)
    assert record["provenance"]["start"] == begun["began"], "of the first attempt, not of the last resume"
    assert record["provenance"]["pack_seconds"] > begun["seconds"]


def test_the_mode_it_was_begun_in_is_kept_whatever_a_new_plan_says(store):
    plan = trained(store, "seed=0", stop=after_looks(4))
    store.plan(plan.sweep).unlink()
    again = planned(store, "seed=0", "mode=compiled")
    assert (again.packs[0].id, again.packs[0].mode) == (plan.packs[0].id, "compiled")
    work(store, again.sweep, "cpu", never)
    assert read_record(store, plan.asked[0])["provenance"]["mode"] == "eager"


def test_a_checkpoint_of_another_device_kind_is_not_continued(store, tmp_path):
    """Its numbers would be those of neither device."""
    undisturbed = type(store)(tmp_path / "undisturbed")
    trained(undisturbed, "seed=0")
    plan = trained(store, "seed=0", stop=after_looks(4))
    (pack,) = plan.packs
    begun = load_checkpoint(store, pack.id)
    assert (begun["kind"], begun["journal"]["steps"] > 0) == (kind_of("cpu"), True)
    zeros = {name: torch.zeros_like(value) for name, value in begun["agent"]["parameters"].items()}
    elsewhere = {"kind": "Some GPU", "began": "long ago", "agent": begun["agent"] | {"parameters": zeros}}
    save_checkpoint(store, pack.id, 0, begun | elsewhere)
    work(store, plan.sweep, "cpu", never)
    assert read_record(store, plan.asked[0])["provenance"]["start"] != "long ago"
    assert all_kept(store, runs_of("seed=0")) == all_kept(undisturbed, runs_of("seed=0"))


@pytest.mark.parametrize("error", [StoreError("the disk is full"), DataError("MNIST is gone")])
def test_no_run_is_blamed_for_a_broken_store_or_missing_data(store, monkeypatch, capsys, error):
    plan = planned(store, "seed=0")
    monkeypatch.setattr(worker, "StopSignal", lambda parent: never)
    with monkeypatch.context() as patch:
        patch.setattr(worker, "train_pack", lambda *_: (_ for _ in ()).throw(error))
        assert worker.main(["--store", str(store.root), "--sweep", plan.sweep]) == 1
    assert capsys.readouterr().out == f"{error}\n"
    assert ended_packs(store) == []
    assert Leases(store, 1000, OTHER).state([plan.packs[0].id])[plan.packs[0].id].state == "waiting"
    assert worker.main(["--store", str(store.root), "--sweep", "123"]) == 1
    assert capsys.readouterr().out.startswith("There is no sweep 123 in ")


def test_a_worker_that_lost_its_pack_writes_nothing_more_of_it(store, caplog):
    """Another worker of another host takes the lease over while this one trains."""
    plan = planned(store, "seed=0", "launch.lease_seconds=0.5", "benchmark.tasks=40", "checkpoint_minutes=0.0001")
    (pack,) = plan.packs
    looks = 0

    def stop():
        nonlocal looks
        looks += 1
        if looks == 4:
            taken = None
            while taken is None:  # the heartbeat may come between the two
                os.utime(store.lease(pack.id, 0), (0, 0))
                taken = Leases(store, 100, OTHER).claim([pack.id])
            assert taken.epoch == 1
        return looks > 4 and not (store.root / "leases" / f"{pack.id}.0").exists()

    lease = Leases(store, 0.5, this_owner()).claim([pack.id])
    with pytest.raises(LostLease):
        training.train_pack(training.Session(store, plan, pack, digits(plan), "cpu", lease, stop))
    assert looks < 6
    assert load_checkpoint(store, pack.id)["journal"]["steps"] <= 180
    assert read_record(store, pack.runs[0]) is None
    assert ended_packs(store) == []


def test_a_lease_is_kept_through_a_step_that_outlasts_it(store):
    store.prepare()
    lease = Leases(store, 0.2, this_owner()).claim(["pack"])
    others = Leases(store, 0.2, OTHER)
    heartbeat = Heartbeat(lease, 0.2)
    with heartbeat.beating():
        for _ in range(6):
            time.sleep(0.1)
            assert others.claim(["pack"]) is None
        heartbeat.alive()
    time.sleep(0.3)
    assert others.claim(["pack"]).epoch == 1
    heartbeat = Heartbeat(lease, 0.2)
    with heartbeat.beating():
        time.sleep(0.2)
        with pytest.raises(LostLease):
            heartbeat.alive()


def test_a_worker_that_hangs_loses_its_lease(store, monkeypatch):
    monkeypatch.setattr("launch.work.patience.LONGEST_STEP_SECONDS", 0.1)
    store.prepare()
    lease = Leases(store, 0.2, this_owner()).claim(["pack"])
    with Heartbeat(lease, 0.2).beating():
        time.sleep(0.6)
        assert Leases(store, 0.2, OTHER).claim(["pack"]).epoch == 1


def test_a_pack_of_diverged_runs_alone_ends_early(store):
    plan = trained(store, "optimizer.lr=1e30", "benchmark.tasks=100000")
    assert read_record(store, plan.asked[0])["status"] == "diverged"


def test_progress_is_left_while_a_pack_trains(store, monkeypatch):
    monkeypatch.setattr("launch.work.training.PROGRESS_SECONDS", 0.0)
    (pack,) = trained(store, "seed=0,1", "launch.workers=1", stop=after_looks(4)).packs
    left = json.loads(store.progress(pack.id).read_text())
    assert left.pop("seconds") > 0
    (part,) = left.pop("parts")
    assert part["from_step"] == 0
    assert left == {"steps": 180, "diverged": 0, "lately": {}, "refills": []}, "two tasks of 90 steps"


def test_compiled_code_is_kept_in_the_users_cache_unless_torch_was_told(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "elsewhere")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    for _ in range(2):
        prepare_compiling()
        assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "elsewhere/avx2"
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    prepare_compiling()
    kept = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    assert (kept.name, kept.parent.parent) == ("avx512", tmp_path / "plasticity_lab" / "compiled")


def test_a_gpu_that_a_failed_pack_has_made_unusable_ends_the_worker(monkeypatch):
    """After a fault inside a kernel every later call of this process fails, and no other pack is to blame for it."""

    def synchronize(device):
        raise RuntimeError("CUDA error: device-side assert triggered\nCompile with TORCH_USE_CUDA_DSA")

    free_memory("cpu")
    monkeypatch.setattr(torch.cuda, "synchronize", synchronize)
    with pytest.raises(DeviceLost, match="cuda:0 no longer answers this process: CUDA error: device-side assert trigg"):
        free_memory("cuda:0")


def digits(plan):
    return claiming._resources(None)(next(iter(plan.runs.values())))


SCRIPT = """
import resource
from pathlib import Path

import torch

from launch.work.process import prepare_process, release_memory

LARGE = 16 * 2**20  # float32: 64 MiB, above what glibc keeps by itself

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

prepare_process()
torch.zeros(LARGE)
before = faults()
for _ in range(50):
    torch.zeros(LARGE)
again = faults() - before
kept = resident()
release_memory()
print(again, kept - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library keeps memory as it likes")
def test_the_memory_of_one_tensor_serves_the_next():
    """Fifty of 64 MiB are 819,200 pages, in a few places of which each is met once; in the end the system has them."""
    said = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    again, given_back = map(int, said.stdout.split())
    assert again < 200_000
    assert given_back > 60 * 2**20


def test_packs_of_another_device_kind_are_left_alone(store, monkeypatch):
    plan = planned(store, "seed=0")
    monkeypatch.setattr(worker, "kind_of", lambda device: "Some GPU")
    assert work(store, plan.sweep, "cuda:0", never)
    assert ended_packs(store) == []


def test_what_is_no_lack_of_memory():
    assert not ran_out_of_memory(RuntimeError("shapes cannot be multiplied"))
    assert ran_out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))


def test_a_diverging_run_is_recorded_with_its_step_and_its_mates_do_not_notice(store, tmp_path):
    alone = type(store)(tmp_path / "alone")
    trained(alone, "optimizer.lr=0.001")
    plan = trained(store, "optimizer.lr=1e30,0.001,0.01", "launch.workers=1")
    assert [pack.width for pack in plan.packs] == [3]
    wild, tame, _ = runs_of("optimizer.lr=1e30,0.001,0.01")
    record = read_record(store, wild.id)
    assert record["status"] == "diverged"
    assert 1 < record["diverged_at_step"] <= 10
    assert record["summary"]["taoa"] is None, "it did not see the end of a task"
    assert kept(store, tame.id) == kept(alone, tame.id)
    assert ended_packs(store)[0]["diverged"] == 1
