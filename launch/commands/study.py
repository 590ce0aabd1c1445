"""Write the searches of a store as Optuna studies into an SQLite file, which optuna-dashboard and Optuna's plots read.

    python -m launch study                            all searches of the store, into study.db
    python -m launch study 1a2b --out lr.db           one search, by the beginning of its id
    optuna-dashboard sqlite:///lr.db

Each combination of choices is an Optuna study. The user attribute `runs` of a trial has the ids of its runs.
"""

import argparse
import os
import tempfile
from pathlib import Path

from launch.packs.lookup import add_store, store_there, the_one
from launch.wording import counted, say
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.process.account import expanded
from plasticity_lab.records.files import disk_errors
from plasticity_lab.records.searches.batches import Results
from plasticity_lab.records.searches.studies import optuna_study, searches_of, studies_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument("search", nargs="?", help="the search's id, or its beginning; all searches without one")
    parser.add_argument("--out", type=Path, default=Path("study.db"), help="the SQLite file, which must not exist yet")
    add_store(parser)


def run(options: argparse.Namespace) -> None:
    """The command.  Raises StoreError; ConfigError if the file exists, or Optuna is not installed."""
    store, path = store_there(options.store), expanded(options.out).absolute()
    known = searches_of(store)
    if not known:
        raise StoreError(f"{store.root} has no search; a command with hyperparams=search makes one.")
    chosen = known if options.search is None else [the_one(options.search, known, "search", store)]
    if os.path.lexists(path):
        raise ConfigError(f"{path} exists already; name another file with --out, or remove that one.")
    studies = [study for search in chosen for study in studies_of(store, search)]
    results = Results(store)
    with disk_errors("write", path), tempfile.TemporaryDirectory(dir=path.parent, prefix=".study.") as folder:
        part = Path(folder) / path.name
        for study in studies:
            try:
                made = optuna_study(study, results, f"sqlite:///{part}")
            except ModuleNotFoundError as error:
                install = "`pip install -e '.[search]'` in the clone installs it"
                raise ConfigError(f"Optuna studies need {error.name}, and it is missing; {install}.") from error
            say(f"{made.study_name}: {counted(len(study.trials), 'trial')}")
        os.replace(part, path)
    print(f"Written: {path} with {counted(len(studies), 'study')}; `optuna-dashboard sqlite:///{path}` shows it.")
