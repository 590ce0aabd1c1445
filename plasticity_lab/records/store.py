"""The store's layout: one object that knows every path."""

from dataclasses import dataclass
from pathlib import Path

from plasticity_lab.errors import StoreError
from plasticity_lab.process.account import expanded
from plasticity_lab.records.files import beside, clear_unfinished, disk_errors, link_once, make_folder, server_time

TASK_WEIGHTS = "weights-task-"
"""How the names of files begin that hold parameters as a task has left them; its position follows."""
UNFINISHED_SECONDS = 3600.0
"""Nobody writes a file that others wait for without a word for so long: whoever began it was killed."""


@dataclass(frozen=True)
class Store:
    """The folder of records. It answers with paths; only `prepare`, `try_out` and `clear_unfinished` touch the disk."""

    root: Path

    def __init__(self, root: str | Path) -> None:
        # Absolute from the start: workers run in other folders.
        object.__setattr__(self, "root", expanded(root).absolute())

    @property
    def runs_folder(self) -> Path:
        """Everything finished: <first two>/<run id>/."""
        return self.root / "runs"

    def run_folder(self, run: str) -> Path:
        """What one run left behind."""
        return self.root.joinpath("runs", run[:2], run)

    def record(self, run: str) -> Path:
        """The record of a run; where it stands, the run is finished and its metrics are there."""
        # Joined at once: who reads a store asks for a path of every run, and each step takes as long as all together.
        return self.root.joinpath("runs", run[:2], run, "record.json")

    def metrics(self, run: str) -> Path:
        """The metrics of a run, one row for each event."""
        return self.root.joinpath("runs", run[:2], run, "metrics.parquet")

    def weights(self, run: str) -> Path:
        """The final parameters of a run, where they were kept."""
        return self.run_folder(run) / "weights.pt"

    def statistics(self, run: str) -> Path:
        """What scales what the network is given, where that was kept with the parameters."""
        return self.run_folder(run) / "statistics.pt"

    def task_weights(self, run: str, task: int) -> Path:
        """The parameters of a run as they were when a task had ended, where those were kept."""
        return self.run_folder(run) / f"{TASK_WEIGHTS}{task}.pt"

    def pack_weights(self, pack: str, task: int) -> Path:
        """The same of a pack in training."""
        return self.pack_folder(pack) / f"weights.{task}"

    def progress(self, pack: str) -> Path:
        """How far a running pack has come."""
        return self.pack_folder(pack) / "progress.json"

    def pause(self, pack: str) -> Path:
        """What the worker of a running pack does while it does not train."""
        return self.pack_folder(pack) / "pause.json"

    def binding(self, pack: str) -> Path:
        """On which kind of device a pack is trained, and how."""
        return self.pack_folder(pack) / "binding.json"

    def pack_folder(self, pack: str) -> Path:
        """The unfinished runs of a pack."""
        return self.root / "packs" / pack

    def checkpoint(self, pack: str, epoch: int) -> Path:
        """The checkpoint that the holder of one lease epoch writes."""
        return self.pack_folder(pack) / f"checkpoint.{epoch}"

    def memory_part(self, pack: str, epoch: int, number: int) -> Path:
        """A part of the log of a pack's replay memory, written by the holder of a lease epoch."""
        return self.pack_folder(pack) / f"memory.{epoch}.{number}"

    @property
    def registrations_folder(self) -> Path:
        """What was fixed before training."""
        return self.root / "preregistered"

    def registration(self, name: str) -> Path:
        """A hypothesis, and the runs and the test that are to decide it."""
        return self.registrations_folder / f"{name}.json"

    def first_reading(self, name: str) -> Path:
        """What the records of a registration's runs were when all of them were there for the first time."""
        return self.registrations_folder / f"{name}.first_reading.json"

    def search_folder(self, search: str) -> Path:
        """What a search has tried, one batch after another."""
        return self.root / "searches" / search

    def batch(self, search: str, number: int) -> Path:
        """The trials of one batch, as they were proposed; the first has the number 0."""
        return self.search_folder(search) / f"batch-{number:04}.json"

    def sweep_folder(self, sweep: str) -> Path:
        """The plan of a sweep and the jobs that compute it."""
        return self.root / "sweeps" / sweep

    def plan(self, sweep: str) -> Path:
        """How a sweep is to be computed."""
        return self.sweep_folder(sweep) / "plan.json"

    def submissions_folder(self, sweep: str) -> Path:
        """What Slurm was asked for, for a sweep, and what came of it."""
        return self.sweep_folder(sweep) / "submissions"

    def cancelled_folder(self, sweep: str) -> Path:
        """A file for each time that a sweep was cancelled."""
        return self.sweep_folder(sweep) / "cancelled"

    @property
    def index_folder(self) -> Path:
        """How runs ended, in short; see `index_files`."""
        return self.root / "index"

    @property
    def leases_folder(self) -> Path:
        """Who works on what."""
        return self.root / "leases"

    def lease(self, pack: str, epoch: int) -> Path:
        """The lease of a pack's epoch: 0 for its first holder, one more for each that takes it over."""
        return self.leases_folder / f"{pack}.{epoch}"

    @property
    def claims_folder(self) -> Path:
        """Which packs train which runs."""
        return self.root / "claims"

    def claim(self, run: str, number: int) -> Path:
        """The claim of a pack on a run: 0 for the first, one more for each that takes over what counts no more."""
        return self.claims_folder / f"{run}.{number}"

    @property
    def done_folder(self) -> Path:
        """Which packs have ended."""
        return self.root / "done"

    def done(self, pack: str) -> Path:
        """How a pack ended."""
        return self.done_folder / pack

    @property
    def divided_folder(self) -> Path:
        """Which packs could not be trained whole."""
        return self.root / "divided"

    def divided(self, pack: str) -> Path:
        """Where it stands, the two halves of a pack have taken its place."""
        return self.divided_folder / pack

    def set_apart(self, pack: str) -> Path:
        """Where it stands, it names the two packs that have taken the place of one, of those of its runs each."""
        return self.divided_folder / f"{pack}.parts"

    def tracked(self, pack: str) -> Path:
        """Which runs of a pack have been written to W&B, and where."""
        return self.root / "tracked" / pack

    @property
    def wandb_folder(self) -> Path:
        """Offline W&B runs that wait to be uploaded."""
        return self.root / "wandb"

    def calibration(self, device: str) -> Path:
        """What was measured on a device kind; its name may hold any sign, as device names do."""
        return self.root / "calibration" / f"{_file_name(device)}.json"

    def short_job_folder(self, name: str) -> Path:
        """Script, log and answer of a short job that does something else than training."""
        return self.root / "errands" / name

    def clear_unfinished(self, sweep: str) -> None:
        """Removes what killed processes were writing an hour ago or earlier, where all sweeps and this one write.

        In the folders of packs and runs, who trains them does it.  Raises StoreError.
        """
        before = server_time(self.leases_folder) - UNFINISHED_SECONDS
        shared = ("leases", "claims", "done", "divided", "calibration", "tracked", "index")
        own = (self.sweep_folder(sweep), self.submissions_folder(sweep), self.cancelled_folder(sweep))
        for folder in [*(self.root / name for name in shared), *own]:
            clear_unfinished(folder, before)

    def prepare(self) -> None:
        """Makes the folders and tries them with a small file and a link.

        Raises StoreError in one sentence: a read-only or full disk, a file in the way, no permission, no hard links.
        """
        self._check_folder()
        for folder in self._folders:
            with disk_errors("write", folder):
                make_folder(folder)
        _try(self.leases_folder / "trial")

    def try_out(self) -> Path:
        """Tries whether `prepare` would succeed, and leaves nothing.  Returns the folder that it would write into.

        That is the store, or where there is none yet the lowest folder above it that is there.  Raises StoreError.
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
    """Writes a small file beside a path and links it; both are gone afterwards.  Raises StoreError."""
    with beside(path, bytes(4096)) as trial:
        link = trial.with_suffix(".link")
        try:
            link_once(trial, link)
        finally:
            with disk_errors("write", path):
                link.unlink(missing_ok=True)


def _file_name(words: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in words)
