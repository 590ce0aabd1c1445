"""Packs and kinds of devices: who binds a pack, who goes on with it, and what becomes of those that nobody can."""

from dataclasses import replace

import pytest

from launch.launchers.local import Machine
from launch.launchers.prepare import prepared
from launch.packs.begun_otherwise import Binding, binding_of, write_binding, written_binding
from launch.packs.leases import Leases
from launch.packs.owner import Owner
from launch.plan.calibration import write_calibration
from launch.plan.speed import AVX2
from launch.work import claiming, training, worker
from plasticity_lab.records.checkpoint import load_checkpoint
from plasticity_lab.records.plan import read_plan
from plasticity_lab.records.record import read_record
from tests.helpers.sweeps import after_looks, all_kept, ended_packs, never, planned, resolved, runs_of, trained, work

pytestmark = pytest.mark.sample(3)

CPU = AVX2

WORDS = ("seed=0,1", "launch.workers=1", "launch.lease_seconds=100")
HERE, THERE = "cpu-avx2-00000a", "cpu-avx512-00000b"
OTHER = Owner("another machine", 1)


@pytest.fixture
def on(monkeypatch):
    """Makes all that follows happen on a CPU of a kind: its name, not its numbers."""

    def on(kind):
        for module in (worker, "launch.launchers.local"):
            target = (module, "kind_of") if not isinstance(module, str) else (f"{module}.kind_of",)
            monkeypatch.setattr(*target, lambda device: kind)

    monkeypatch.setattr(claiming, "FREE_SECONDS", 0.0)
    on(HERE)
    return on


@pytest.fixture
def begun(store, on):
    """A sweep of one pack that was begun on one kind, and stopped; what follows is on another."""
    on(THERE)
    plan = trained(store, *WORDS, stop=after_looks(4))
    on(HERE)
    return plan


def provenances(store, plan):
    return [read_record(store, run)["provenance"] for run in plan.asked]


def test_a_pack_that_is_not_begun_is_bound_by_whoever_begins_it_before_its_first_step(store, on, monkeypatch):
    on(THERE)
    plan = planned(store, *WORDS)
    (pack,) = plan.packs
    on(HERE)
    write_binding(store, pack.id, Binding(THERE, "compiled", 2))
    assert binding_of(store, pack) is None, "its worker was killed before the first checkpoint"
    seen = []
    really = training.train

    def train(*given):
        seen.append(written_binding(store, pack.id))
        return really(*given)

    monkeypatch.setattr(training, "train", train)
    work(store, plan.sweep, "cpu", after_looks(4))
    assert (pack.kind, seen) == (THERE, [Binding(HERE, "eager", 2)])
    assert binding_of(store, pack) == seen[0]
    assert load_checkpoint(store, pack.id)["kind"] == HERE
    work(store, plan.sweep, "cpu", never)
    assert [(made["device"], made["mode"]) for made in provenances(store, plan)] == [(HERE, "eager")] * 2
    assert not any("parts" in made for made in provenances(store, plan))


@pytest.mark.parametrize("setting", ["auto", "compiled"])
def test_mode_and_width_are_those_of_the_kind_that_binds_unless_the_user_has_said_a_mode(
    store, on, monkeypatch, setting
):
    monkeypatch.setattr(claiming, "not_compiled_here", lambda device: None)
    monkeypatch.setattr(worker, "train_pack", lambda session: taken.append(session.pack))
    taken = []
    on(THERE)
    plan = planned(store, "seed=range(5)", "launch.workers=1", f"mode={setting}")
    narrow = replace(CPU.of("dense"), width={"eager": 2, "compiled": 3})
    write_calibration(store, HERE, replace(CPU, speeds={"dense": narrow, "convolving": narrow}), {})
    on(HERE)
    steps = iter(range(100))
    work(store, plan.sweep, "cpu", lambda: next(steps) > 4)
    widest = {"auto": 2, "compiled": 3}[setting]
    assert {pack.mode for pack in taken} == {"eager" if setting == "auto" else "compiled"}
    assert {pack.kind for pack in taken} == {HERE}
    assert max(pack.width for pack in taken) <= widest < plan.packs[0].width == 5
    left = read_plan(store, plan.sweep).packs
    assert sorted(run for pack in left for run in pack.runs) == sorted(plan.asked)
    assert taken[0].id in {pack.id for pack in left}


def test_nobody_widens_a_pack(store, on):
    on(THERE)
    plan = planned(store, *WORDS)
    wide = replace(CPU.of("dense"), width={"eager": 64, "compiled": 64})
    write_calibration(store, HERE, replace(CPU, speeds={"dense": wide, "convolving": wide}), {})
    on(HERE)
    work(store, plan.sweep, "cpu", never)
    assert [pack["status"] for pack in ended_packs(store)] == ["done"]
    assert {made["width"] for made in provenances(store, plan)} == {2}


def test_the_command_plans_anew_what_was_begun_on_a_kind_of_which_it_has_no_worker(store, begun, undisturbed):
    settings = resolved(*WORDS).settings.model_copy(update={"store": store.root})
    ready = prepared(runs_of(*WORDS), settings, Machine.of(settings).resources)
    lost = 2 * load_checkpoint(store, begun.packs[0].id)["journal"]["steps"]
    assert all(word in " ".join(ready.earlier.said) for word in ("2 runs", THERE, HERE, f"{lost:,} run-steps"))
    plan = trained(store, *WORDS)
    assert [each["status"] for each in ended_packs(store)].count("replaced") == 1
    assert plan.packs[0].id != begun.packs[0].id
    assert {made["device"] for made in provenances(store, plan)} == {HERE}
    assert not any("parts" in made for made in provenances(store, plan))
    assert all_kept(store, runs_of(*WORDS)) == undisturbed(*WORDS)


def test_where_a_worker_of_that_kind_is_alive_the_pack_is_left_to_it(store, on):
    on(THERE)
    words = ("activation=relu,tanh", "seed=0", "launch.workers=1", "launch.lease_seconds=100")
    plan = trained(store, *words, stop=after_looks(4))
    first, second = plan.packs
    begun = first if binding_of(store, first) else second
    held = second if begun is first else first
    lease = Leases(store, 100, OTHER).claim([held.id])
    write_binding(store, held.id, Binding(THERE, "eager", 1))
    on(HERE)
    again = planned(store, *words)
    assert {pack.id for pack in again.packs} == {first.id, second.id}
    looks = after_looks(2)
    work(store, again.sweep, "cpu", looks)
    assert ended_packs(store) == [], "it waits while somebody of that kind may come"
    lease.release()
    assert work(store, again.sweep, "cpu", never)
    assert [each["status"] for each in ended_packs(store)].count("replaced") == 1
    assert {made["device"] for made in provenances(store, plan)} == {HERE}


def test_the_last_worker_trains_anew_what_nobody_will_go_on_with_and_says_how_much_is_lost(
    store, begun, undisturbed, caplog
):
    """As on a cluster, where the command does not know which kinds its workers will be of."""
    lost = 2 * load_checkpoint(store, begun.packs[0].id)["journal"]["steps"]
    assert work(store, begun.sweep, "cpu", never)
    (said,) = [each.getMessage() for each in caplog.records if THERE in each.getMessage()]
    assert all(word in said for word in ("2 runs", HERE, f"{lost:,} run-steps"))
    assert sorted(each["status"] for each in ended_packs(store)) == ["done", "replaced"]
    assert {made["device"] for made in provenances(store, begun)} == {HERE}
    assert all_kept(store, runs_of(*WORDS)) == undisturbed(*WORDS)
    assert planned(store, *WORDS).packs == []


def test_its_own_kind_goes_on_bit_for_bit(store, begun, on, undisturbed):
    assert work(store, begun.sweep, "cpu", never, patience=0.1, may_come=lambda: True)
    assert ended_packs(store) == [], "workers of other kinds leave it while others are to start"
    assert binding_of(store, begun.packs[0]).kind == THERE
    on(THERE)
    assert work(store, begun.sweep, "cpu", never)
    assert [each["status"] for each in ended_packs(store)] == ["done"]
    assert not any("parts" in made for made in provenances(store, begun))
    assert all_kept(store, runs_of(*WORDS)) == undisturbed(*WORDS)
