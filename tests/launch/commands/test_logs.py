"""What `python -m launch logs` shows, without Slurm: the files that it has written."""

import os

import pytest

from launch.__main__ import main
from launch.packs.leases import Leases
from launch.packs.owner import Owner
from launch.packs.submissions import submissions_of
from tests.helpers.slurm_files import given_to_slurm, in_accounting, in_queue
from tests.helpers.stand_ins import fails, put_on_path, tells
from tests.helpers.sweeps import planned, trained

ONE = ("launch.workers=1",)
QUEUE = ("60_1|RUNNING|None|n1", "60_2|PENDING|Resources|", "60_3|PENDING|Resources|")


def on_slurm(store, plan, spoken, workers=4, **parameters):
    """Makes a sweep one of Slurm's; spoken: worker → what it has said, each a second after the one before.

    Returns the folder of its logs.
    """
    (submission,) = given_to_slurm(store, plan.sweep, {"60": workers}, **parameters)
    folder = submission.folder
    folder.mkdir(parents=True)
    speak(folder, spoken)
    return folder


def speak(folder, spoken):
    """Writes what workers have said, each a second after the one before."""
    for at, (worker, words) in enumerate(spoken.items()):
        path = folder / f"{worker}_log.out"
        path.write_text(words)
        os.utime(path, (at, at + 1))


@pytest.fixture
def logs(store, capsys, tmp_path, monkeypatch):
    """Shows logs → the exit status, the lines printed, and what was said on stderr."""

    def logs(*words, answers=True):
        known = [each for path in store.root.glob("sweeps/*") for each in submissions_of(store, path.name, [])]
        queue = tells(*(line for each in known if each.job for line in in_queue(store, each, *QUEUE)))
        ended = tells(*(line for each in known if each.job for line in in_accounting(each, "60_0|TIMEOUT|0:0|n2")))
        squeue = queue if answers else fails("slurm_load_jobs error: Unable to contact")
        put_on_path(monkeypatch, tmp_path / "bin", squeue=squeue, sacct=ended)
        code = main(["logs", "--store", str(store.root), *words])
        out, err = capsys.readouterr()
        return code, out.splitlines(), err

    return logs


def test_each_worker_under_its_job_node_and_state_the_unlucky_last(store, logs):
    older, newer = planned(store, "seed=1"), planned(store, "seed=0")
    os.utime(store.plan(older.sweep), (1, 1))
    folder = on_slurm(store, newer, {"60_0_0": "a\nb\nc\n", "60_1_0": "d\n", "60_2_0": ""})
    assert folder.parent == store.sweep_folder(newer.sweep) / "jobs"
    assert logs("--lines", "2") == (
        0,
        [
            "==> no log yet, job 60_2, 60_3: waits until nodes are free (Resources)",
            f"==> job 60_1 on n1 runs; {folder}/60_1_0_log.out",
            "d",
            f"==> job 60_0 on n2 ended early: time limit; {folder}/60_0_0_log.out",
            "b",
            "c",
        ],
        "",
    )
    assert logs("--sweep", newer.sweep[:6])[1][-1] == "c"


def test_a_run_leads_to_all_workers_that_had_it(store, logs):
    plan = planned(store, "activation=relu,tanh", "seed=0", *ONE)
    on_slurm(store, plan, {"60_0_0": "first\n", "60_1_0": "second\n", "60_2_0": "another's\n"})
    first, second, other = (Owner("node", task, job="60", task=str(task)) for task in range(3))
    mine, others = (pack.id for pack in plan.packs)
    Leases(store, 100, first).claim([mine]).release()
    assert Leases(store, 100, second).claim([mine])
    assert Leases(store, 100, other).claim([others])
    run = plan.packs[0].runs[0]
    assert [line for line in logs(run)[1] if not line.startswith("==>")] == ["second", "first"]


def test_what_has_no_logs_is_a_sentence(store, logs):
    store.prepare()
    assert str(store.root) in logs()[2]
    plan = trained(store, "seed=0")
    code, lines, err = logs()
    assert (code, lines, plan.sweep in err) == (1, [], True)
    assert all(key in logs(plan.asked[0])[2] for key in (plan.asked[0], f"process {os.getpid()}"))
    waiting = planned(store, "seed=1")
    assert f"{waiting.asked[0]} waits" in logs(waiting.asked[0])[2]
    assert waiting.sweep in logs("--sweep", waiting.sweep)[2]
    assert "--lines is 0" in logs("--lines", "0")[2]


def test_workers_that_share_a_job_and_errors_kept_apart_have_files_of_their_own(store, logs, tmp_path):
    plan = planned(store, "seed=0")
    parameters = {"tasks_per_node": 2, "stderr_to_stdout": False, "submitit_folder": str(tmp_path / "jobs")}
    folder = on_slurm(store, plan, {"60_0": "rank 0\n", "60_1": "rank 1\n"}, workers=1, **parameters)
    assert folder.parent == tmp_path / "jobs"
    (folder / "60_1_log.err").write_text("error of 1\n")
    assert [line for line in logs()[1] if "==>" not in line] == ["rank 0", "rank 1", "error of 1"]
