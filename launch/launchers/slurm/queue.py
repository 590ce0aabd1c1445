"""What Slurm knows about sweeps and the store does not: how many jobs run, why others wait, how some ended."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from launch.launchers.slurm.cluster import SlurmError, this_cluster
from launch.launchers.slurm.job_state import JobState
from launch.launchers.slurm.own_jobs import on_another, states_of_sweeps
from launch.launchers.slurm.submissions import Submission, is_cancelled, submissions_of
from launch.wording import counted, some
from plasticity_lab.errors import StoreError
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.store import Store

PATIENCE_SECONDS = 5.0
"""How long `status` waits for a cluster that does not answer."""
FEW = 3
"""How many jobs that ended alike are named."""


@dataclass(frozen=True)
class SweepJobs:
    """The jobs of one sweep, by name.

    running: those at work. waiting: why → those queued. ended: how → those that ended early. cancelled: whether the
    sweep was cancelled, and no worker submitted since. unknown: how → those in a state that this version does not
    know.
    """

    running: Sequence[str]
    waiting: Mapping[str, Sequence[str]]
    ended: Mapping[str, Sequence[str]]
    cancelled: bool
    unknown: Mapping[str, Sequence[str]]

    def __str__(self) -> str:
        """All of it in a line."""
        at_work = f"{counted(len(self.running), 'job')} run{'s' if len(self.running) == 1 else ''}"
        parts = [at_work if self.running else "no job runs"]
        parts += [f"{len(jobs):,} wait{'s' if len(jobs) == 1 else ''} {why}" for why, jobs in self.waiting.items()]
        parts += [f"{len(jobs):,} ended early: {how} ({some(jobs, FEW)})" for how, jobs in self.ended.items()]
        for how, jobs in self.unknown.items():
            parts.append(f"{len(jobs):,} {'is' if len(jobs) == 1 else 'are'} {how} ({some(jobs, FEW)})")
        return "; ".join(parts)


def sweep_jobs(store: Store, sweeps: Iterable[str]) -> tuple[dict[str, SweepJobs | None], list[str]]:
    """Sweep → its jobs, of the sweeps that were given to Slurm; None where Slurm does not know.

    Returns also a sentence for each thing that Slurm does not know. It is asked once for all sweeps, and only if there
    are jobs.
    """
    submitted: dict[str, list[Submission]] = {}
    said = []
    for sweep in sweeps:
        unreadable: list[StoreError] = []
        submissions = submissions_of(store, sweep, unreadable)
        said += [str(error) for error in unreadable if not isinstance(error, DamagedFile)]  # `status` names those
        submitted |= {sweep: submissions} if submissions else {}
    if not submitted:
        return {}, said
    here = this_cluster(PATIENCE_SECONDS)
    try:
        states, gap = states_of_sweeps(store, submitted, here, PATIENCE_SECONDS)
    except SlurmError as error:
        return dict.fromkeys(submitted), [*said, f"Which jobs run and which are queued is unknown: {error}"]
    if gap:
        said.append(f"How jobs ended is unknown: {gap}")
    for sweep, submissions in submitted.items():
        elsewhere = sorted({str(each.cluster) for each in submissions if each.job and on_another(each, here)})
        said += [f"Sweep {sweep} has jobs on cluster {name}; how they stand is shown there." for name in elsewhere]
    return {sweep: _jobs_as(states[sweep].values(), is_cancelled(store, submitted[sweep])) for sweep in submitted}, said


def _jobs_as(states: Iterable[JobState], cancelled: bool) -> SweepJobs:
    waiting, ended, unknown = defaultdict(list), defaultdict(list), defaultdict(list)
    ours = sorted(states, key=lambda state: state.job)
    for state in ours:
        if state.waits:
            waiting[state.why].append(state.job)
        elif state.ended_early:
            ended[state.why].append(state.job)
        elif state.lives and not state.runs:
            unknown[state.why].append(state.job)
    running = [state.job for state in ours if state.runs]
    return SweepJobs(running, _largest_first(waiting), _largest_first(ended), cancelled, _largest_first(unknown))


def _largest_first(jobs: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    return dict(sorted(jobs.items(), key=lambda entry: -len(entry[1])))
