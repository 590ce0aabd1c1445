"""Commands that submit workers, given at once, killed, or cancelled meanwhile.  Slurm is a stand-in."""

import dataclasses
import json
import os
import signal
import sys
import threading
import time

import pytest

from launch.__main__ import main
from launch.command import run_command
from launch.launchers.slurm import launcher, submit_once
from launch.launchers.slurm.own_jobs import mark_of
from launch.packs import submissions
from launch.packs.owner import this_owner
from launch.packs.submissions import Outcome, add_cancellation, ask, decide, outcome_of, submissions_of
from plasticity_lab import named_code
from tests.helpers.slurm_files import PARAMETERS
from tests.helpers.stores import SETTINGS
from tests.helpers.sweeps import PATIENCE, planned, said_last

pytestmark = pytest.mark.sample(4)

WORDS = ("hydra/launcher=packed_slurm", "schedule=smoke", "tracking=store", "mode=eager", "seed=0,1")
SUBMITS = 'sed "" "$1" >"$JOBS/12"; echo "$1" >>"$JOBS/sbatch"; echo "Submitted batch job 12"'


@pytest.fixture
def sweep(store):
    return planned(store, "seed=0,1", "launch.workers=2").sweep  # two packs, also where there is one core


@pytest.fixture
def command(store, stand_in, capsys):
    """Gives the command of the sweep → its status, what it said on stderr, and how often sbatch was called.

    Jobs wait in the queue for good.
    """
    stand_in.put("sbatch", SUBMITS)

    def run(*words):
        status = run_command(said_last(*WORDS, f"store={store.root}", *words))
        called = stand_in.jobs / "sbatch"
        return status, capsys.readouterr().err, len(called.read_text().splitlines()) if called.exists() else 0

    return run


@pytest.fixture
def another(store, sweep, monkeypatch):
    """Another command that has asked for workers: one that lives, or one that was killed."""

    def another(killed):
        owner = dataclasses.replace(this_owner(), started="an earlier process") if killed else this_owner()
        with monkeypatch.context() as patch:
            patch.setattr(submissions, "this_owner", lambda: owner)
            return ask(store, sweep, PARAMETERS, SETTINGS, 0, "north")

    return another


def queued(stand_in, store, asked):
    """Puts a job of a submission into the queue."""
    comment, log = mark_of(store, asked.sweep, asked.token), asked.folder / "%A_%a_0_log.out"
    (stand_in.jobs / "12").write_text(f"#SBATCH --comment='{comment}'\n#SBATCH --output={log}\n")


def test_the_second_of_two_commands_given_at_once_waits_and_submits_nothing(
    store, stand_in, command, another, monkeypatch
):
    first, waits = another(killed=False), threading.Event()

    def say(words):
        print(words, file=sys.stderr)
        waits.set()

    def submits():
        assert waits.wait(PATIENCE)
        queued(stand_in, store, first)
        decide(store, first.sweep, first.number, Outcome("12", 1))

    monkeypatch.setattr(submit_once, "say", say)
    thread = threading.Thread(target=submits)
    thread.start()
    status, err, called = command("launch.workers=1")
    thread.join()
    assert (status, called) == (0, 0)
    assert str(this_owner()) in err
    assert "job 12, on cpu" in err


@pytest.mark.parametrize("had_submitted", [True, False])
def test_a_command_that_was_killed_while_it_submitted_is_found_out(store, stand_in, command, another, had_submitted):
    killed = another(killed=True)
    if had_submitted:
        queued(stand_in, store, killed)
    status, _, called = command("launch.workers=1")
    assert (status, called) == (0, 0 if had_submitted else 1)
    outcome = outcome_of(store, killed.sweep, killed.number)
    assert outcome.job == ("12" if had_submitted else None)


def test_another_machines_command_is_waited_for_only_so_long(store, command, another, monkeypatch):
    monkeypatch.setattr(submit_once, "LOST_SECONDS", 0.0)
    slow = another(killed=False)
    assert command()[::2] == (0, 1)
    assert decide(store, slow.sweep, slow.number, Outcome("12", 1)).job is None, "what it submits now is not wanted"


def test_a_cancellation_while_sbatch_is_busy_holds(store, sweep, stand_in, command):
    folder = store.cancelled_folder(sweep)
    folder.mkdir()
    stand_in.put("sbatch", f"touch {folder}/1; {SUBMITS}")
    status, err, called = command()
    assert (status, called) == (1, 1)
    assert "was cancelled while this command submitted workers for it" in err
    assert (stand_in.jobs / "cancelled").read_text().split()[-1] == "12"
    stand_in.put("sbatch", SUBMITS)
    status, _, called = command()
    assert (status, called) == (0, 2), "given again, it goes on"
    assert submissions_of(store, sweep, [])[-1].cancellations == 1


def test_a_cancellation_while_the_command_imports_or_plans_holds_for_it(store, sweep, command, monkeypatch):
    """Seconds pass before a command can look. Workers that it started then would train after `cancel` has ended."""
    add_cancellation(store, sweep)
    add_cancellation(store, sweep)
    os.utime(store.cancelled_folder(sweep) / "1", (1, 1))
    monkeypatch.setattr(launcher, "seconds_since_command", lambda: 60.0)
    status, err, called = command()
    assert (status, called) == (1, 0)
    assert "none was submitted" in err
    os.utime(store.cancelled_folder(sweep) / "2", (1, 1))
    assert command()[::2] == (0, 1)
    assert submissions_of(store, sweep, [])[-1].cancellations == 2
    really = launcher.prepared

    def prepared(*given):
        add_cancellation(store, sweep)
        return really(*given)

    monkeypatch.setattr(launcher, "prepared", prepared)
    status, err, called = command()
    assert (status, called) == (1, 1)
    assert "none was submitted" in err


def test_only_jobs_of_the_sweep_that_are_not_cancelled_count_as_workers(store, sweep, stand_in, command):
    for _ in range(2):
        assert command("launch.workers=1")[::2] == (0, 1)
    add_cancellation(store, sweep)
    time.sleep(0.1)  # the file server's clock is a tick behind
    assert command("launch.workers=1")[::2] == (0, 2)
    # Slurm's numbers were reset: the store knows 12, and the queue has another 12.
    (stand_in.jobs / "12").write_text("#SBATCH --comment=another\n")
    assert command("launch.workers=1")[::2] == (0, 3)


def test_what_sbatch_reports_as_failed_may_be_in_the_queue(store, sweep, stand_in, command):
    stand_in.put("sbatch", f"{SUBMITS}; echo 'sbatch: error: Socket timed out on send/recv operation' >&2; exit 1")
    status, err, _ = command()
    assert status == 0
    assert "job 12, on cpu" in err
    assert submissions_of(store, sweep, [])[0].job == "12"


def test_a_job_that_slurm_has_refused_is_none_though_it_keeps_it_as_failed(sweep, stand_in, command, monkeypatch):
    monkeypatch.setenv("STATE", "FAILED|BadConstraints")
    words = "sbatch: error: Batch job submission failed: Requested node configuration is not available"
    stand_in.put("sbatch", f"{SUBMITS} >/dev/null; echo '{words}' >&2; exit 1")
    status, err, _ = command()
    assert status == 1
    assert "node configuration is not available" in err


def test_a_refused_submission_leaves_the_logs_of_another_alone(store, sweep, stand_in, command):
    assert command("launch.workers=1")[0] == 0
    (first,) = submissions_of(store, sweep, [])
    (first.folder / "12_0_log.out").write_text("at work\n")
    before = sorted(first.folder.iterdir())
    stand_in.refuses("sbatch", "sbatch: error: Batch job submission failed: Invalid account")
    status, err, _ = command("launch.workers=2")
    assert (status, err) == (1, "sbatch refused the job: Batch job submission failed: Invalid account\n")
    assert sorted(first.folder.iterdir()) == before
    assert list(first.folder.parent.iterdir()) == [first.folder]
    assert "Invalid account" in submissions_of(store, sweep, [])[1].outcome.why


def test_workers_count_whatever_comment_the_user_gives_them(store, sweep, stand_in, command):
    """Also one among the parameters that submitit passes on as they are: it would take the place of the mark."""
    more = "+hydra.launcher.additional_parameters.comment='x, y|z'"
    words = ("hydra.launcher.comment=theirs", more, "launch.workers=1")
    assert command(*words)[::2] == (0, 1)
    (asked,) = submissions_of(store, sweep, [])
    assert f"--comment='x, y|z {mark_of(store, sweep, asked.token)}'" in (stand_in.jobs / "12").read_text()
    assert command(*words)[::2] == (0, 1)


def test_held_jobs_are_released(store, sweep, stand_in, command, monkeypatch):
    asked_config = (stand_in.bin / "scontrol").read_text().partition("\n")[2]
    stand_in.put("scontrol", f'[ "$1" = release ] && echo "$2" >>"$JOBS/released"; {asked_config}')
    assert command("launch.workers=1")[::2] == (0, 1)
    monkeypatch.setenv("STATE", "PENDING|launch failed requeued held")
    assert command("launch.workers=1")[::2] == (0, 1)
    assert (stand_in.jobs / "released").read_text() == "12\n"
    stand_in.put("scontrol", f'[ "$1" = release ] && {{ echo "Access denied" >&2; exit 1; }}; {asked_config}')
    status, err, called = command("launch.workers=1")
    assert (status, called) == (1, 1)
    for words in ("launch failed requeued held", "12", f"python -m launch cancel {sweep}", "Access denied"):
        assert words in err


def test_waiting_outlives_the_controller(store, sweep, stand_in, command, monkeypatch):
    """It says once that Slurm does not answer; when it does, and has no job of the sweep left, the command ends."""
    monkeypatch.setattr(launcher, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(launcher, "ASK_SECONDS", 0.0)
    answers = (stand_in.bin / "squeue").read_text().partition("\n")[2]
    stand_in.put("squeue", f'[ ! -e "$JOBS/sbatch" ] || [ -e "$JOBS/back" ] || {{ echo away >&2; exit 1; }}; {answers}')

    def comes_back():
        while not (stand_in.jobs / "sbatch").exists():
            time.sleep(0.05)
        time.sleep(1)
        (stand_in.jobs / "12").unlink()
        (stand_in.jobs / "back").touch()

    thread = threading.Thread(target=comes_back)
    thread.start()
    status, err, _ = command("launch.wait=true")
    thread.join()
    assert (status, err.count("Slurm does not answer"), "not finished" in err) == (1, 1, True)


@pytest.mark.parametrize(
    ("ended", "restarts", "orders"), [(12, 0, 3), (10, 99, 3), (140, 0, 3), (12, 100, 0), (1, 0, 0)]
)
def test_an_announcement_that_comes_before_python_listens_is_a_place_in_the_queue(
    store, stand_in, command, monkeypatch, ended, restarts, orders
):
    """Also where the controller is away at first, and where one that is killed forgets what it has promised."""
    stand_in.put("srun", f"exit {ended}")
    ordered = "$JOBS/ordered"
    takes = f'case $(wc -l <"{ordered}") in 1) exit 1 ;; 2) exit 0 ;; *) kill $PPID ;; esac'
    stand_in.put("scontrol", f'case "$1" in requeue) echo "$2" >>"{ordered}"; {takes} ;; esac')
    stand_in.put("sleep", "")
    stand_in.put("sbatch", f'{SUBMITS} >/dev/null; SLURM_JOB_ID=12 bash "$1"; echo $? >"$JOBS/ended"; echo job 12')
    monkeypatch.setenv("SLURM_RESTART_COUNT", str(restarts))
    command("launch.workers=1")
    asked = stand_in.jobs / "ordered"
    assert (asked.read_text().split() if asked.exists() else []) == ["12"] * orders
    killed = 128 + signal.SIGTERM
    assert (stand_in.jobs / "ended").read_text() == f"{killed if orders else ended}\n"


def test_a_job_finds_its_work_though_its_command_was_killed_when_sbatch_had_answered(store, sweep, stand_in, command):
    """submitit gives the work its name after sbatch; the job does so itself where that was not done."""
    stand_in.put("srun", "exit 0")
    environment = "SLURM_JOB_ID=13 SLURM_ARRAY_JOB_ID=12 SLURM_ARRAY_TASK_ID=1"
    stand_in.put("sbatch", f'{SUBMITS} >/dev/null; {environment} bash "$1"; echo job 12')
    assert command("launch.workers=1")[0] == 0
    (submission,) = submissions_of(store, sweep, [])
    assert (submission.folder / "12_1_submitted.pkl").read_bytes() == (submission.folder / "work.pkl").read_bytes()


def test_a_submission_keeps_which_code_its_command_named_and_its_script_passes_it_on(
    store, stand_in, command, sweep, monkeypatch
):
    monkeypatch.setattr(named_code, "_NAMED", {"mine", "/home/somebody/ideas"})
    command()
    (submitted,) = submissions_of(store, sweep, [])
    assert {"mine", "/home/somebody/ideas"} <= set(submitted.code)
    script = (stand_in.jobs / "12").read_text()
    assert f"export {named_code.VARIABLE}=" in script
    assert "/home/somebody/ideas:" in script
    path = store.submissions_folder(sweep) / "1.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in content.items() if key != "code"}))
    assert [each.code for each in submissions_of(store, sweep, [])] == [[]], "one of an earlier version"


def test_resume_may_import_what_its_submission_named_and_nothing_else_that_its_plan_names(
    store, sweep, monkeypatch, tmp_path, capsys
):
    (tmp_path / "resumed_mine.py").write_text(
        "from plasticity_lab.activations.relu import ReLU\nclass Mine(ReLU): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    plan = store.plan(sweep)
    plan.write_text(plan.read_text().replace("plasticity_lab.activations.relu.ReLU", "resumed_mine.Mine"))
    monkeypatch.setattr(launcher, "submit_runs", lambda runs, *_: [run.structure() for run in runs])

    def resumed(names):
        monkeypatch.setattr(named_code, "_NAMED", set(names))
        ask(store, sweep, PARAMETERS, SETTINGS, 0, None)
        monkeypatch.setattr(named_code, "_NAMED", set())
        return main(["resume", sweep, "--store", str(store.root)]), capsys.readouterr().err

    status, said = resumed([])
    assert (status, "only a store names" in said, "resumed_mine" in sys.modules) == (1, True, False)
    assert resumed(["resumed_mine"]) == (0, "")
    assert "resumed_mine" in sys.modules
