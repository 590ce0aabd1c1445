"""Two commands given at the same moment, whose sweeps overlap: each run is trained once, and by whoever came first."""

import shutil

import pytest

from launch.packs.leases import Leases
from launch.packs.owner import Owner
from launch.packs.run_claims import Claim, claim_runs, clear_claims
from launch.work.claiming import Claiming
from plasticity_lab.records.checkpoint import save_checkpoint
from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import PATIENCE, after_looks, all_kept, command, ended_packs, never, planned, runs_of, work

pytestmark = pytest.mark.sample(1)

ONE = ("seed=range(0,4)", "launch.workers=1", "launch.lease_seconds=2")
TWO = ("seed=range(2,6)", "launch.workers=1", "launch.lease_seconds=2")
BOTH = ("seed=range(0,6)",)
OTHER = Owner("elsewhere", 1)


@pytest.fixture
def at_once(store, tmp_path):
    """The plans of two commands, neither of which has seen the other's."""
    first, second = planned(store, *ONE), planned(Store(tmp_path / "not seen"), *TWO)
    shutil.copytree(Store(tmp_path / "not seen").sweep_folder(second.sweep), store.sweep_folder(second.sweep))
    return first, second


def each_once(store, *words):
    """Whether each run that the words name has ended once, and nothing else is left than records."""
    ended = [run for pack in ended_packs(store) for run in pack["runs"]]
    left = [path.name for folder in ("leases", "claims", "packs") for path in store.root.glob(f"{folder}/*")]
    return sorted(ended) == sorted(run.id for run in runs_of(*words)) and left == []


def ours(store, owner=OTHER):
    return Leases(store, 2, owner)


def test_what_another_pack_has_finished_is_not_trained_again(store, at_once, undisturbed):
    for plan in at_once:
        assert work(store, plan.sweep, "cpu", never)
    assert each_once(store, *BOTH)
    assert all_kept(store, runs_of(*BOTH)) == undisturbed(*BOTH)
    ended = sorted((pack["status"], len(pack["runs"])) for pack in ended_packs(store))
    assert ended == [("divided", 0), ("done", 0), ("done", 2), ("done", 4)], "set apart, wherever they stand"
    assert planned(store, *TWO).packs == []


def test_a_pack_that_others_have_begun_and_left_is_trained_by_whoever_waits_for_its_runs(store, at_once, undisturbed):
    first, second = at_once
    work(store, first.sweep, "cpu", after_looks(3))
    assert (store.root / "packs" / first.packs[0].id).exists()
    assert work(store, second.sweep, "cpu", never)
    assert each_once(store, *BOTH)
    assert all_kept(store, runs_of(*BOTH)) == undisturbed(*BOTH)
    assert work(store, first.sweep, "cpu", never), "nothing is left"


def test_runs_that_a_live_worker_trains_are_waited_for(store, at_once):
    first, second = at_once
    others = Leases(store, 100, OTHER)
    lease = others.claim([first.packs[0].id])
    assert claim_runs(store, first.packs[0], first.sweep, others) == {}
    looks = iter(range(12))
    assert work(store, second.sweep, "cpu", lambda: next(looks, None) is None)
    shared = set(first.asked) & set(second.asked)
    assert {run for run in second.asked if read_record(store, run) is not None} == set(second.asked) - shared
    assert len(shared) == 2
    lease.release()
    assert work(store, second.sweep, "cpu", never), "never begun: then they are this sweep's to train"
    assert all(read_record(store, run)["status"] == "done" for run in second.asked)
    assert work(store, first.sweep, "cpu", never)
    ended = [run for pack in ended_packs(store) for run in pack["runs"]]
    assert sorted(ended) == sorted(run.id for run in runs_of(*BOTH))


def test_a_worker_does_not_wait_for_ever_for_what_goes_on_elsewhere_only(store, at_once, caplog):
    """Begun on a device that this machine has not, and left."""
    first, second = at_once
    (pack,) = first.packs
    others = Leases(store, 100, OTHER)
    lease = others.claim([pack.id])
    claim_runs(store, pack, first.sweep, others)
    save_checkpoint(store, pack.id, 0, {"kind": "Some GPU", "mode": "eager"})
    lease.release()
    path = store.plan(first.sweep)
    path.write_text(path.read_text().replace('"kind": "cpu"', '"kind": "Some GPU"'))
    work(store, second.sweep, "cpu", never)
    assert "which no worker trains" in caplog.text
    assert len([run for run in second.asked if read_record(store, run) is not None]) == 2


def test_where_it_happened_all_the_same_the_record_says_so(store, at_once, monkeypatch, undisturbed):
    first, second = at_once
    with monkeypatch.context() as unaware:
        unaware.setattr(Claiming, "is_free", lambda *_: True)
        for plan in at_once:
            work(store, plan.sweep, "cpu", after_looks(3))
    for plan in at_once:
        assert work(store, plan.sweep, "cpu", never)
    twice = set(first.asked) & set(second.asked)
    found = {run: read_record(store, run)["provenance"].get("also_trained_in") for run in {*first.asked, *second.asked}}
    assert found == {run: [second.packs[0].id] if run in twice else None for run in found}
    assert {read_record(store, run)["provenance"]["pack"] for run in twice} == {first.packs[0].id}
    assert all_kept(store, runs_of(*BOTH)) == undisturbed(*BOTH)
    assert each_once(store, *BOTH)


def test_claims_hold_for_packs_and_run_out_with_their_leases(store):
    store.prepare()
    (one,), (two,) = planned(store, *ONE).packs, planned(Store(store.root / "not seen"), *TWO).packs
    shared = set(one.runs) & set(two.runs)
    lease = ours(store).claim([one.id])
    assert claim_runs(store, one, "first", ours(store)) == {}
    assert claim_runs(store, one, "first", ours(store)) == {}, "whoever takes the pack over has them"
    elsewhere = claim_runs(store, two, "second", ours(store))
    assert elsewhere == {run: Claim(one.id, "first") for run in shared}
    clear_claims(store, two.id, two.runs)
    lease.release()
    assert claim_runs(store, two, "second", ours(store)) == {}, "neither held nor begun"
    ours(store).claim([two.id])
    assert claim_runs(store, one, "first", ours(store)) == {run: Claim(two.id, "second") for run in shared}
    clear_claims(store, one.id, one.runs)
    assert claim_runs(store, two, "second", ours(store)) == {}
    save_checkpoint(store, two.id, 0, {})
    assert set(claim_runs(store, one, "first", ours(store))) == shared
    clear_claims(store, one.id, one.runs)
    clear_claims(store, two.id, two.runs)
    assert {path.suffix for path in store.claims_folder.iterdir()} <= {".0"}, "below the other's, and void"


@pytest.mark.slow
def test_overlapping_commands_given_at_once_train_each_run_once(store, undisturbed):
    more = ("benchmark.tasks=20", "activation=relu,tanh")
    with command(store, *ONE, *more) as one, command(store, *TWO, *more) as two:
        assert [process.wait(PATIENCE) for process in (one, two)] == [0, 0]
    assert each_once(store, *BOTH, *more)
    assert all_kept(store, runs_of(*BOTH, *more)) == undisturbed(*BOTH, *more)


def test_a_rerun_trains_what_others_have_finished(store, tmp_path):
    first = planned(store, *ONE)
    assert work(store, first.sweep, "cpu", never)
    again = planned(store, *ONE, "rerun=true")
    assert work(store, again.sweep, "cpu", never)
    assert {read_record(store, run)["provenance"]["pack"] for run in again.asked} == {pack.id for pack in again.packs}
