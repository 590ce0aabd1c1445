"""The layout of the store: one object with all its paths."""

from dataclasses import dataclass
from pathlib import Path

from plasticity_lab.errors import StoreError
from plasticity_lab.process.account import expanded
from plasticity_lab.records.files import beside, clear_unfinished, disk_errors, link_once, make_folder, server_time

TASK_WEIGHTS = "weights-task-"
"""The prefix of files with the parameters at a task's end; the task's position follows."""
FILM = "film.gif"
"""The film of a run (see `film`)."""
UNFINISHED_SECONDS = 3600.0
"""No process writes one file for longer than this: a process that seems to do so was killed."""


@dataclass(frozen=True)
class Store:
    """The folder of records. It returns paths; only `prepare`, `try_out` and `clear_unfinished` use the disk."""

    root: Path

    def __init__(self, root: str | Path) -> None:
        # Absolute from the start: workers run in other folders.
        object.__setattr__(self, "root", expanded(root).absolute())

    @property
    def runs_folder(self) -> Path:
        """The finished runs: <first two digits>/<run id>/."""
        return self.root / "runs"

    def run_folder(self, run: str) -> Path:
        """The files of one run."""
        return self.root.joinpath("runs", run[:2], run)

    def record(self, run: str) -> Path:
        """The record of a run; if it exists, the run has ended and its metrics exist."""
        # Joined in one call, for speed: readers of a store need a path for every run.
        return self.root.joinpath("runs", run[:2], run, "record.json")

    def metrics(self, run: str) -> Path:
        """The metrics of a run, one row for each event."""
        return self.root.joinpath("runs", run[:2], run, "metrics.parquet")

    def weights(self, run: str) -> Path:
        """The final parameters of a run, if they were kept."""
        return self.run_folder(run) / "weights.pt"

    def statistics(self, run: str) -> Path:
        """The statistics that scale observations, if they were kept with the parameters."""
        return self.run_folder(run) / "statistics.pt"

    def task_weights(self, run: str, task: int) -> Path:
        """The parameters of a run at a task's end, if they were kept."""
        return self.run_folder(run) / f"{TASK_WEIGHTS}{task}.pt"

    def pack_weights(self, pack: str, task: int) -> Path:
        """The parameters of a pack in training at a task's end."""
        return self.pack_folder(pack) / f"weights.{task}"

    def film(self, run: str) -> Path:
        """The film of a run's last test episode, if it was kept."""
        return self.run_folder(run) / FILM

    def pack_film(self, pack: str, k: int) -> Path:
        """The film of the k-th run of a pack in training."""
        return self.pack_folder(pack) / f"film.{k}"

    def progress(self, pack: str) -> Path:
        """The progress of a running pack."""
        return self.pack_folder(pack) / "progress.json"

    def pause(self, pack: str) -> Path:
        """The current pause of a running pack's worker."""
        return self.pack_folder(pack) / "pause.json"

    def binding(self, pack: str) -> Path:
        """The kind of device and the mode of a pack's training."""
        return self.pack_folder(pack) / "binding.json"

    def pack_folder(self, pack: str) -> Path:
        """The files of an unfinished pack."""
        return self.root / "packs" / pack

    def checkpoint(self, pack: str, epoch: int) -> Path:
        """The checkpoint of one lease epoch's holder."""
        return self.pack_folder(pack) / f"checkpoint.{epoch}"

    def memory_part(self, pack: str, epoch: int, number: int) -> Path:
        """A part of the log of a pack's replay memory, from one lease epoch's holder."""
        return self.pack_folder(pack) / f"memory.{epoch}.{number}"

    @property
    def assays(self) -> "Store":
        """The store of the assays that `launch assay` tries on the finished runs of this one."""
        return Store(self.root / "assays")

    @property
    def registrations_folder(self) -> Path:
        """The preregistrations."""
        return self.root / "preregistered"

    def registration(self, name: str) -> Path:
        """A hypothesis, with the runs and the test that decide it."""
        return self.registrations_folder / f"{name}.json"

    def first_reading(self, name: str, number: int = 1) -> Path:
        """The digests of a registration's records when they were first read.  number: the reading's, from 1."""
        return self.registrations_folder / f"{name}.first_reading{'' if number == 1 else f'.{number}'}.json"

    def search_folder(self, search: str) -> Path:
        """The batches of a search."""
        return self.root / "searches" / search

    def batch(self, search: str, number: int) -> Path:
        """The proposed trials of one batch; the first has the number 0."""
        return self.search_folder(search) / f"batch-{number:04}.json"

    def sweep_folder(self, sweep: str) -> Path:
        """The plan of a sweep and the jobs that compute it."""
        return self.root / "sweeps" / sweep

    def plan(self, sweep: str) -> Path:
        """The plan of a sweep."""
        return self.sweep_folder(sweep) / "plan.json"

    def submissions_folder(self, sweep: str) -> Path:
        """The submissions of a sweep to Slurm, with their outcomes."""
        return self.sweep_folder(sweep) / "submissions"

    def cancelled_folder(self, sweep: str) -> Path:
        """A file for each time that a sweep was cancelled."""
        return self.sweep_folder(sweep) / "cancelled"

    @property
    def index_folder(self) -> Path:
        """The index of how runs ended; see `index_files`."""
        return self.root / "index"

    @property
    def leases_folder(self) -> Path:
        """The leases of packs."""
        return self.root / "leases"

    def lease(self, pack: str, epoch: int) -> Path:
        """The lease of a pack's epoch: 0 for its first holder, one more for each takeover."""
        return self.leases_folder / f"{pack}.{epoch}"

    @property
    def claims_folder(self) -> Path:
        """The claims of packs on runs."""
        return self.root / "claims"

    def claim(self, run: str, number: int) -> Path:
        """The claim of a pack on a run: 0 for the first, one more for each takeover of a void claim."""
        return self.claims_folder / f"{run}.{number}"

    @property
    def done_folder(self) -> Path:
        """The ended packs."""
        return self.root / "done"

    def done(self, pack: str) -> Path:
        """How a pack ended."""
        return self.done_folder / pack

    @property
    def divided_folder(self) -> Path:
        """The packs that could not be trained whole."""
        return self.root / "divided"

    def divided(self, pack: str) -> Path:
        """If it exists, the two halves of a pack replace it."""
        return self.divided_folder / pack

    def set_apart(self, pack: str) -> Path:
        """If it exists, it lists the runs of the two packs that replace one."""
        return self.divided_folder / f"{pack}.parts"

    def tracked(self, pack: str) -> Path:
        """The runs of a pack that are in W&B, with their places."""
        return self.root / "tracked" / pack

    @property
    def wandb_folder(self) -> Path:
        """Offline W&B runs that wait to be uploaded."""
        return self.root / "wandb"

    def calibration(self, device: str) -> Path:
        """The calibration of a device kind; its name may contain any character."""
        name = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in device)
        return self.root / "calibration" / f"{name}.json"

    def short_job_folder(self, name: str) -> Path:
        """Script, log and answer of a short job that does not train."""
        return self.root / "errands" / name

    def clear_unfinished(self, sweep: str) -> None:
        """Removes temporary files of killed processes, older than an hour, from shared folders and this sweep's.

        Workers clear the folders of their packs and runs.  Raises StoreError.
        """
        before = server_time(self.leases_folder) - UNFINISHED_SECONDS
        shared = ("leases", "claims", "done", "divided", "calibration", "tracked", "index")
        own = (self.sweep_folder(sweep), self.submissions_folder(sweep), self.cancelled_folder(sweep))
        for folder in [*(self.root / name for name in shared), *own]:
            clear_unfinished(folder, before)

    def prepare(self) -> None:
        """Makes the folders and tests them with a small file and a link.

        Raises StoreError in one sentence: a read-only or full disk, a file in the way, no permission, no hard links.
        """
        self._check_folder()
        for folder in self._folders:
            with disk_errors("write", folder):
                make_folder(folder)
        _try(self.leases_folder / "trial")

    def try_out(self) -> Path:
        """Tests whether `prepare` would succeed, and leaves no file.  Returns the folder that it would write into.

        That is the store, or without a store the lowest existing folder above it.  Raises StoreError.
        """
        self._check_folder()
        there = [folder for folder in (self.root, *self._folders) if folder.is_dir()]
        for folder in there:
            _try(folder / "trial")
        if there:
            return self.root
        new = next(path for path in (self.root, *self.root.parents) if path.parent.is_dir())
        if new.exists():
            raise StoreError(f"The store {self.root} cannot be made: {new} is a file; name a folder with store=FOLDER.")
        _try(new)
        return new.parent

    @property
    def _folders(self) -> list[Path]:
        return [self.root / name for name in ("runs", "packs", "sweeps", "leases", "done", "calibration")]

    def _check_folder(self) -> None:
        with disk_errors("read", self.root):
            is_file = self.root.exists() and not self.root.is_dir()
        if is_file:
            raise StoreError(f"The store {self.root} is a file; name a folder with store=FOLDER.")


def _try(path: Path) -> None:
    """Writes a small file next to a path and links it; removes both.  Raises StoreError."""
    with beside(path, bytes(4096)) as trial:
        link = trial.with_suffix(".link")
        try:
            link_once(trial, link)
        finally:
            with disk_errors("write", path):
                link.unlink(missing_ok=True)
