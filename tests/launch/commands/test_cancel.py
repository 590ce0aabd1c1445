"""What `python -m launch cancel` does and says, without Slurm: its commands are stand-ins."""

import shutil

import pytest

from launch.__main__ import main
from launch.commands import cancel
from launch.launchers.slurm.own_jobs import mark_of
from launch.packs import submissions
from launch.packs.leases import Leases
from launch.packs.owner import Owner
from launch.packs.submissions import cancellations
from tests.helpers.slurm_files import given_to_slurm, in_queue
from tests.helpers.stand_ins import fails, tells
from tests.helpers.sweeps import planned

AWAY = fails("slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
STAYS = 'echo "$@" >>"$JOBS/cancelled"'
ENDS = f'{STAYS}; rm -f "$JOBS/queue"'


@pytest.fixture
def sweep(store):
    return planned(store, "seed=0")


@pytest.fixture
def queue(stand_in):
    """Puts lines of squeue into the queue, which scancel takes away, or all but those that stay."""

    def put(*lines, stay=False):
        (stand_in.jobs / "queue").touch()
        stand_in.put("squeue", f'[ -e "$JOBS/queue" ] || exit 0\n{tells(*lines)}')
        stand_in.put("scancel", STAYS if stay else ENDS)

    put()
    return put


@pytest.fixture
def stop(store, stand_in, capsys, monkeypatch):
    """Cancels → its status, what it said, and the jobs that scancel was given."""
    monkeypatch.setattr(cancel, "WAIT_SECONDS", 0.2)
    monkeypatch.setattr(cancel, "LOOK_SECONDS", 0.05)

    def stop():
        told = stand_in.jobs / "cancelled"
        told.unlink(missing_ok=True)
        status = main(["cancel", "--store", str(store.root)])
        return status, capsys.readouterr().err, told.read_text().split()[1:] if told.exists() else []

    return stop


def test_all_jobs_of_the_sweep_are_cancelled_and_no_others(store, sweep, queue, stop):
    """Two arrays, though no command that submitted knew of both; and strangers' jobs, one of a number that ours had."""
    first, second = given_to_slurm(store, sweep.sweep, {"60": 2, "61": 1})
    jobs = in_queue(store, first, "60_0|RUNNING|None|n1", "60_1|PENDING|Resources|")
    jobs += in_queue(store, second, "70|RUNNING|None|n1", comment="", command="train.sh", user="ann")
    stranger = in_queue(store, second, "61|RUNNING|None|n1", comment="", command="train.sh")
    queue(*jobs, *in_queue(store, second, "62|RUNNING|None|n1"), *stranger)
    status, said, told = stop()
    assert (status, sorted(told)) == (0, ["60", "62"])
    assert "3 jobs cancelled" in said
    assert cancellations(store, sweep.sweep) == 1


def test_without_the_controller_workers_are_told_by_the_store(store, sweep, stand_in, queue, stop):
    (asked,) = given_to_slurm(store, sweep.sweep, {"60": 2})
    stand_in.put("squeue", AWAY)
    lease = Leases(store, 100, Owner("n1", 1, job="60", task="0")).claim([sweep.packs[0].id])
    status, said, _ = stop()
    assert status == 1
    for words in ("Unable to contact", f"Pack {sweep.packs[0].id} is still held", "60_0", "again"):
        assert words in said
    assert cancellations(store, sweep.sweep) == 1
    lease.release()
    assert "no worker trains now" in stop()[1]
    queue(*in_queue(store, asked, "60_1|PENDING|Resources|"))
    status, said, told = stop()
    assert (status, told) == (0, ["60"])


def test_a_store_that_cannot_be_written_is_no_reason_to_go_on(store, sweep, queue, stop):
    (asked,) = given_to_slurm(store, sweep.sweep, {"60": 1})
    queue(*in_queue(store, asked, "60|RUNNING|None|n1"))
    store.cancelled_folder(sweep.sweep).touch()
    status, said, told = stop()
    assert (status, told) == (1, ["60"])
    assert str(store.cancelled_folder(sweep.sweep)) in said


@pytest.mark.parametrize("lost", ["missing", "damaged"])
def test_jobs_are_found_where_the_store_has_lost_them(store, sweep, queue, stop, lost):
    (asked,) = given_to_slurm(store, sweep.sweep, {"60": 1})
    folder = store.submissions_folder(sweep.sweep)
    queue(*in_queue(store, asked, "60|RUNNING|None|n1"))
    if lost == "missing":
        shutil.rmtree(folder)
    else:
        (folder / "1.json").write_text("{")
    status, said, told = stop()
    assert (status, told) == (0, ["60"])
    assert ("delete" in said, str(folder / "1.json") in said) == (False, lost == "damaged")


def test_a_colleagues_jobs_are_named_and_see_the_cancellation_themselves(store, sweep, queue, stop, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(submissions, "user_name", lambda: "ann")
        (asked,) = given_to_slurm(store, sweep.sweep, {"60": 1})
    monkeypatch.setattr(cancel, "WAIT_SECONDS", 0.0)
    queue(*in_queue(store, asked, "60|RUNNING|None|n1"))
    status, said, told = stop()
    assert (status, told) == (1, [])
    assert "ann's (60)" in said
    assert cancellations(store, sweep.sweep) == 1


def test_jobs_of_another_cluster_are_named(store, sweep, queue, stop):
    given_to_slurm(store, sweep.sweep, {"60": 1}, cluster="south")
    status, said, _ = stop()
    assert status == 1
    assert "cluster south" in said


def test_a_sweep_of_local_workers_is_not_cancelled(store, sweep, queue, stop):
    status, said, told = stop()
    assert (status, told) == (1, [])
    assert "was not given to Slurm" in said
    assert cancellations(store, sweep.sweep) == 0


def test_who_trains_packs_of_the_sweep_and_is_no_job_of_it_is_named(store, sweep, queue, stop):
    given_to_slurm(store, sweep.sweep, {"60": 1})
    Leases(store, 100, Owner("elsewhere", 7)).claim([sweep.packs[0].id])
    status, said, _ = stop()
    assert status == 0
    assert f"Pack {sweep.packs[0].id} is held by process 7 on elsewhere" in said


@pytest.mark.parametrize(
    ("lines", "named", "cancelled"),
    [
        (["60_0|EXPEDITING|None|n1", "60_1|||"], "60_0 (expediting on n1)", {"60", "--quiet"}),
        (["60_0|COMPLETING|None|n1"], "60_0 (completing on n1)", set()),
    ],
    ids=["in a state that is not known", "ending"],
)
def test_what_is_left_is_named_until_it_has_ended(store, sweep, queue, stop, lines, named, cancelled):
    (asked,) = given_to_slurm(store, sweep.sweep, {"60": 1})
    queue(*in_queue(store, asked, *lines), stay=True)
    status, said, told = stop()
    assert (status, named in said) == (1, True)
    assert cancelled <= set(told)
    queue()
    assert stop()[0] == 0


@pytest.mark.parametrize("whose", ["another store", "the user's analysis of it"])
def test_jobs_that_only_name_the_sweep_are_not_cancelled(store, sweep, queue, stop, whose):
    (asked,) = given_to_slurm(store, sweep.sweep, {"60": 1})
    if whose == "another store":
        other = mark_of(store, sweep.sweep, "feed").replace(str(store.root), "/elsewhere/store")
        queue(*in_queue(store, asked, "60|RUNNING|None|n1", comment=other))
    else:
        analysis = {"comment": "(null)", "command": f"/home/ann/analyse.sh {store.plan(sweep.sweep)}"}
        queue(*in_queue(store, asked, "61|PENDING|JobHeldUser|", **analysis))
    status, said, told = stop()
    assert (status, told) == (0, [])
    assert "no job of it was left" in said
