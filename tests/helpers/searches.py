"""Searches as a command names them, and batches that nobody trains."""

from collections.abc import Callable, Sequence
from pathlib import Path

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode

from launch.command_line import taken_apart
from launch.runs.files import Preset
from launch.runs.options import CONF, Options
from launch.runs.search import Search, search_of
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.lookup import recorded_runs
from plasticity_lab.records.record import new_record, write_metrics, write_record
from plasticity_lab.records.searches.batches import batches_of
from plasticity_lab.records.searches.studies import searches_of
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run
from tests.helpers.sweeps import ended_packs, kept


def search(*words: str) -> Search:
    """What a command searches."""
    line = taken_apart([*(() if any("hyperparams=" in word for word in words) else ("hyperparams=search",)), *words])
    with initialize_config_dir(str(CONF), job_name="plasticity_lab", version_base="1.3"):
        loader = GlobalHydra.instance().hydra.config_loader
        config = loader.load_configuration("config", list(line.composed), run_mode=RunMode.MULTIRUN)
        found = search_of(Options(loader, config), Preset(), line.typed)
    assert found is not None
    return found


class Trained:
    """Stands for a launcher: leaves a record of each run, of what a function says it came to, and keeps what it got.

    value: of a run; None where it diverged. most: as many batches are trained, then it is interrupted.
    """

    def __init__(self, value: Callable[[Run], float | None], most: int = 99) -> None:
        self.value, self.most = value, most
        self.batches: list[list[str]] = []

    def __call__(self, runs: Sequence[Run], settings: Settings) -> None:
        """Trains a batch."""
        if len(self.batches) == self.most:
            raise KeyboardInterrupt
        self.batches.append([run.id for run in runs])
        for run in runs:
            leave(settings.store, run, self.value(run))


def leave(folder: Path, run: Run, value: float | None, **ended: object) -> None:
    """A record of a run with one metric.  ended: its status and step, where it is neither done nor diverged."""
    store = Store(folder)
    files = {store.metrics(run.id).name: write_metrics(store, run.id, CLASSIFIER.schema.empty_table())}
    how = ended or ({"status": "done"} if value is not None else {"status": "diverged", "diverged_at_step": 3})
    if how.get("error"):
        files = {}
    record = new_record(run, provenance={}, summary={"taoa": value}, files=files, **{"status": "", **how})
    write_record(store, record)


def begun(store: Store, number: int) -> bool:
    """Whether the one search of a store has come to a batch."""
    return any(store.batch(search, number).exists() for search in searches_of(store))


def check_undisturbed(store: Store, alone: Store) -> None:
    """The one search of a store has the trials of the same search in another one, with the same numbers to the bit,
    and every run of both was trained once.
    """
    (search,) = searches_of(alone)
    assert searches_of(store) == [search]
    batches = batches_of(alone, search)
    assert batches_of(store, search) == batches
    runs = [run for batch in batches for trial in batch.trials for run in trial.runs]
    assert len(runs) == len(set(runs)), "a trial repeats another one"
    for each in (store, alone):
        assert sorted(recorded_runs(each)) == sorted(runs)
        done = [run for pack in ended_packs(each) if pack["status"] == "done" for run in pack["runs"]]
        assert sorted(done) == sorted(runs), "a run was trained twice"
    assert {run: kept(store, run) for run in runs} == {run: kept(alone, run) for run in runs}
