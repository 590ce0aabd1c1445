"""What `status` and `logs` tell of a real Slurm's jobs."""

import json
import os
import signal
import time

import pytest

from launch.__main__ import main
from launch.launchers.slurm.cluster import states_of
from tests.helpers.slurm_jobs import LONG, bring_back, given, let_train, lose, order, submitted
from tests.helpers.sweeps import wait_until

pytestmark = [pytest.mark.slurm, pytest.mark.slow]
ALL_NODES = ("--partition=cpu", "--exclusive", "--nodes=2")


@pytest.fixture
def pushes(tmp_path):
    """Submits a job that is no worker → its id."""
    return lambda script, *words: given(tmp_path, f"srun bash -c '{script}'", *words)


def told(*jobs):
    """How jobs stand, in words."""
    found, gap = states_of(jobs, 20)
    assert gap == ""
    return {job: str(state) for job, state in found.items()}


@pytest.fixture
def lost_node():
    """Ends a node's slurmd, and starts it again afterwards."""
    lost = []

    def lose_it(node):
        lose(node)
        lost.append(node)

    yield lose_it
    for node in lost:
        bring_back(node)
        wait_until(lambda node=node: "idle" in order("sinfo", "-h", "-N", "-n", node, "-o", "%T"))


def test_each_end_and_each_wait_has_its_words(slurm, lost_node, pushes):
    killed, failed = pushes("kill -9 $$", "--nodelist=n1"), pushes("exit 1", "--nodelist=n1")
    timed_out = pushes("sleep 600", "--nodelist=n1", "--time=1")
    cancelled = pushes("sleep 600", "--nodelist=n1", "--array=0-1")
    held, later = pushes("true", "--hold"), pushes("true", "--begin=now+1hour")
    pushed = pushes("sleep 600", "--nodelist=n2", "--partition=preempt", "--exclusive", "--no-requeue")
    wait_until(lambda: told(pushed)[pushed] == "runs" and told(cancelled).get(f"{cancelled}_1") == "runs")
    order("scancel", "--signal=KILL", f"{cancelled}_0")
    order("scancel", f"{cancelled}_1")
    loses_its_node = pushes("sleep 600", "--nodelist=n2", "--exclusive", "--no-requeue")
    wait_until(lambda: told(loses_its_node)[loses_its_node] == "runs")
    crowded = pushes("true", *ALL_NODES)
    wait_until(lambda: told(crowded)[crowded] == "waits until nodes are free (Resources)")
    lost_node("n2")
    ends = {
        killed: "ended early: killed by SIGKILL, as happens where memory runs out",
        failed: "ended early: failed with exit status 1",
        timed_out: "ended early: time limit",
        f"{cancelled}_0": "ended early: cancelled",
        f"{cancelled}_1": "ended early: cancelled",
        pushed: "ended early: preempted",
        loses_its_node: "ended early: node failure",
        held: "waits until it is released (`scontrol release`) (JobHeldUser)",
        later: "waits until its time comes, some minutes at most after it was queued again (BeginTime)",
    }
    deadline = time.monotonic() + 180
    asked = [killed, failed, timed_out, cancelled, held, later, pushed, loses_its_node]
    while told(*asked) != ends and time.monotonic() < deadline:
        time.sleep(1)
    assert told(*asked) == ends
    assert told(crowded)[crowded].startswith("waits until nodes come back that are down, drained or reserved (")


def test_from_the_queue_to_the_end_of_its_workers(slurm, store, capsys, pushes):
    def told_of(*words):
        assert main([*words, "--store", str(store.root)]) == 0
        return capsys.readouterr().out

    pusher = pushes("sleep 600", *ALL_NODES)
    wait_until(lambda: told(pusher)[pusher] == "runs")
    job = submitted(store, *LONG, "activation=relu,tanh", "launch.workers=2")
    wait_until(lambda: "no job runs; 2 wait until nodes are free (Resources)" in told_of("status"))
    row = told_of("status").splitlines()[1]
    assert row.split()[1:5] == ["2", "-", "-", "2"]
    assert " queued " in row
    assert told_of("logs") == f"==> no log yet, job {job}_0, {job}_1: waits until nodes are free (Resources)\n"

    order("scancel", pusher)
    let_train(store)
    wait_until(lambda: "2 jobs run." in told_of("status"))
    leases = [json.loads(path.read_text()) for path in store.leases_folder.iterdir()]
    (first,) = [lease for lease in leases if lease["task"] == "0"]
    os.kill(first["pid"], signal.SIGKILL)
    ended = f"1 ended early: killed by SIGKILL, as happens where memory runs out ({job}_0)"
    wait_until(lambda: ended in told_of("status"))
    assert "Killed" in told_of("logs").partition(f"job {job}_0")[2]

    assert main(["cancel", "--store", str(store.root)]) == 0
    wait_until(lambda: "no job runs; 1 ended early: killed by SIGKILL" in told_of("status"))
    wait_until(lambda: "it was cancelled; `python -m launch resume " in told_of("status"))
    assert " stopped " in told_of("status").splitlines()[1]
