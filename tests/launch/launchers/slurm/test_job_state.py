"""What Slurm's answers about jobs mean, in words."""

import pytest

from launch.launchers.slurm.cluster import JobState, states_of
from tests.helpers.stand_ins import fails, put_on_path, row_of_sacct, row_of_squeue, tells

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


MEANINGS = {
    "": ["COMPLETED", "COMPLETING", "STAGE_OUT"],
    "ended_early": "BOOT_FAIL CANCELLED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED TIMEOUT".split(),
    "lives runs": ["RUNNING", "RESIZING", "SIGNALING"],
    "lives waits to_start": "PENDING CONFIGURING REQUEUE_FED REQUEUED REVOKED STOPPED SUSPENDED".split(),
    "lives waits held": [
        *("RESV_DEL_HOLD", "REQUEUE_HOLD", "SPECIAL_EXIT", "PENDING|JobHeldUser"),
        *("PENDING|launch failed requeued held", "PENDING|job requeued in held state"),
    ],
    "lives waits": ["PENDING|BadConstraints"],
    "lives": ["?", "None", "Unknown", "INVALID", "N/A", "EXPEDITING", "completed", "3", ""],
}
"""Properties → all states that Slurm's manual lists, some with a reason, and other answers."""


@pytest.mark.parametrize("meaning", MEANINGS)
def test_each_state_is_what_slurm_means_by_it(meaning):
    for answer in MEANINGS[meaning]:
        words, _, reason = answer.partition("|")
        state = JobState.reported("60", words, reason or "None", "n1")
        held = [name for name in "lives runs waits held ended_early to_start".split() if getattr(state, name)]
        assert sorted(held) == sorted(meaning.split()), answer
        assert ("ended" in str(state)) == (words == "COMPLETED" or "ended_early" in held), answer
        assert words not in ("?", "EXPEDITING") or words in str(state)


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
