"""What Slurm's answers about jobs mean, in words."""

import pytest

from launch.launchers.slurm.cluster import SlurmError
from launch.launchers.slurm.job_state import JobState, states_of
from tests.helpers.stand_ins import fails, prints, put_on_path, row_of_sacct, row_of_squeue, tells

ENDED = (
    "60_0|FAILED|9:0|n1",
    "60_0.batch|FAILED|9:0|n1",
    "60_0.0|CANCELLED|0:9|n1",
    "60_1|FAILED|1:0|n1",
    "60_1.batch|FAILED|1:0|n1",
    "60_1.0|FAILED|1:0|n1",
    "60_2|CANCELLED by 1000|0:0|n2",
    "60_2.batch|CANCELLED|0:15|n2",
    "60_2.0|CANCELLED|0:9|n2",
    "60_3|TIMEOUT|0:0|n1",
    "60_4|PREEMPTED|0:0|n2",
    "60_5|NODE_FAIL|0:0|n2",
    "60_5.batch|CANCELLED||n2",
    "60_6|OUT_OF_MEMORY|0:125|n2",
    "60_7|FAILED|1:0|n2",
    "60_7.0|OUT_OF_MEMORY|0:125|n2",
    "60_8|COMPLETED|0:0|n2",
    "60_8.0|COMPLETED|0:0|n2",
    "60_[9-10,12%2]|CANCELLED by 1000|0:0|None assigned",
)


def of_squeue(*rows):
    return tells(*(row_of_squeue(*row.split("|")) for row in rows))


def of_sacct(*rows):
    return tells(*(row_of_sacct(*row.split("|")) for row in rows))


@pytest.fixture
def told(tmp_path, monkeypatch):
    """From what squeue and sacct do to how the jobs of array 60 stand, in words, and why some cannot be told."""

    def told(squeue, sacct, patience=20):
        put_on_path(monkeypatch, tmp_path / "bin", squeue=squeue, sacct=sacct)
        found, gap = states_of(["60"], patience)
        return {job: str(state) for job, state in found.items()}, gap

    return told


def test_what_is_over_is_told_with_its_reason(told):
    found, gap = told(fails("slurm_load_jobs error: Invalid job id specified"), of_sacct(*ENDED))
    assert gap == ""
    assert found == {
        "60_0": "ended early: killed by SIGKILL, as happens where memory runs out",
        "60_1": "ended early: failed with exit status 1",
        "60_2": "ended early: cancelled",
        "60_3": "ended early: time limit",
        "60_4": "ended early: preempted",
        "60_5": "ended early: node failure",
        "60_6": "ended early: out of memory",
        "60_7": "ended early: out of memory",
        "60_8": "ended",
        "60_9": "ended early: cancelled",
        "60_10": "ended early: cancelled",
        "60_12": "ended early: cancelled",
    }


@pytest.mark.parametrize(
    ("state", "reason", "held"),
    [
        ("PENDING", "JobHeldUser", True),
        ("PENDING", "launch failed requeued held", True),
        ("PENDING", "job requeued in held state", True),
        ("REQUEUE_HOLD", "None", True),
        ("PENDING", "Resources", False),
        ("RUNNING", "None", False),
    ],
)
def test_which_jobs_wait_to_be_released(state, reason, held):
    assert JobState("60", state, reason).held is held


@pytest.mark.parametrize(
    ("state", "reason", "to_start"),
    [
        ("PENDING", "Resources", True),
        ("REQUEUED", "None", True),
        ("PENDING", "JobHeldUser", False),
        ("PENDING", "BadConstraints", False),
        ("RUNNING", "None", False),
        ("COMPLETED", "None", False),
    ],
)
def test_which_jobs_will_start_by_themselves(state, reason, to_start):
    assert JobState("60", state, reason).to_start is to_start


ALL_STATES = {
    "well": "COMPLETED",
    "early": "BOOT_FAIL CANCELLED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED TIMEOUT",
    "ending": "COMPLETING STAGE_OUT",
    "runs": "RUNNING RESIZING SIGNALING",
    "waits": "PENDING CONFIGURING REQUEUE_FED REQUEUED REVOKED STOPPED SUSPENDED",
    "held": "RESV_DEL_HOLD REQUEUE_HOLD SPECIAL_EXIT",
    "unknown": "? None Unknown INVALID N/A EXPEDITING completed 3",
}
"""All that Slurm's manual lists, and other answers."""


@pytest.mark.parametrize(
    ("kind", "words"), [(kind, word) for kind, all_of in ALL_STATES.items() for word in all_of.split()]
)
def test_each_state_is_what_slurm_means_by_it(kind, words):
    state = JobState.reported("60", words, "None", "n1")
    found = (state.lives, state.runs, state.waits, state.held, state.ended_early)
    assert (
        found
        == {
            "well": (False, False, False, False, False),
            "early": (False, False, False, False, True),
            "ending": (False, False, False, False, False),
            "runs": (True, True, False, False, False),
            "waits": (True, False, True, False, False),
            "held": (True, False, True, True, False),
            "unknown": (True, False, False, False, False),
        }[kind]
    )
    assert ("ended" in str(state)) == (kind in ("well", "early"))
    assert words not in ("?", "EXPEDITING") or words in str(state)


def test_a_state_that_slurm_does_not_tell_is_not_over():
    assert JobState.reported("60", "", "", "").lives
    assert "none" in str(JobState.reported("60", "", "", ""))


def test_what_slurm_leaves_open_is_no_error(told):
    """As where the accounting has lost a job's end, or was asked just when it began."""
    rows = ("60_0||0:0|n1", "60_0.0|None|None|", "60_1|FAILED|None|None assigned", "60_2|FAILED||", "60_3|TIMEOUT|1|n1")
    more = ("60_4|None|None|None", "60_[5-9:2,11%2]|CANCELLED by 0|:|", "60_[20,30-3...]|CANCELLED by 0|0:0|", "60_12")
    found, gap = told(of_squeue("60_4||None|", "60_13|?|None|n1"), of_sacct(*rows, *more, "", "a|b|c|d|e|f"))
    cancelled = dict.fromkeys(("60_5", "60_7", "60_9", "60_11", "60_20"), "ended early: cancelled")
    failed = dict.fromkeys(("60_1", "60_2"), "ended early: failed")
    unknown = "is in a state that this version does not know"
    assert gap == ""
    assert found == cancelled | failed | {
        "60_3": "ended early: time limit",
        "60_4": f"{unknown} (Slurm gives none)",
        "60_13": f"{unknown} (?)",
    }


def test_the_queue_is_ahead_of_the_accounting(told):
    """One was preempted and waits again, one was just killed: the accounting lags, and alone knows by what signal."""
    over = ("60_0|FAILED|NonZeroExitCode|n1", "60_1|FAILED|NonZeroExitCode|n1")
    queue = of_squeue("60_4|PENDING|BeginTime|", *over, "60_8|RUNNING|None|n1")
    found, _ = told(queue, of_sacct(*ENDED))
    assert found["60_4"].startswith("waits until its time comes")
    assert found["60_0"] == "ended early: killed by SIGKILL, as happens where memory runs out"
    assert found["60_1"] == "ended early: failed with exit status 1"
    assert found["60_8"] == "runs"


def test_without_accounting_the_queue_is_told_all_the_same(told):
    found, gap = told(of_squeue("60_0|RUNNING|None|n1"), fails("Slurm accounting storage is disabled"))
    assert found == {"60_0": "runs"}
    assert gap.endswith("failed: Slurm accounting storage is disabled")


def test_a_cluster_that_does_not_answer_is_not_waited_for(told):
    with pytest.raises(SlurmError, match=r"has not answered for 0\.2 seconds"):
        told("exec sleep 60", prints(), patience=0.2)
