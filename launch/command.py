"""The main command: Hydra composes its words, a launcher trains its runs, and every mistake ends in one sentence."""

import contextlib
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from hydra import initialize_config_dir
from hydra._internal.callbacks import Callbacks
from hydra._internal.hydra import Hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, MissingConfigException
from hydra.types import HydraContext, RunMode
from hydra.utils import get_class
from omegaconf import DictConfig
from omegaconf.errors import InterpolationKeyError, OmegaConfBaseException, ValidationError
from yaml import YAMLError

from launch.command_line import CommandLine, check_heeded, show, taken_apart
from launch.launchers.slurm.parameters import slurm_parameters
from launch.runs.answers import answers_kept, save_answers
from launch.runs.arguments import instead
from launch.runs.files import Preset, preset_of
from launch.runs.options import CONF, Options
from launch.runs.overrides import overrides_of, run_from
from launch.runs.resolve import Resolved, resolved, with_data
from launch.runs.search import Search, search_of
from launch.runs.settings import store_option
from launch.runs.words import spelled
from launch.tracking.wandb.environment import check_tracking
from plasticity_lab.errors import ConfigError, PlasticityError
from plasticity_lab.process.exits import command_begins, status_of
from plasticity_lab.process.import_path import importing_alike
from plasticity_lab.records.settings import Settings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

MISTAKES = (HydraException, OmegaConfBaseException, YAMLError, UserWarning)
"""The errors that mistakes in a command raise, in addition to PlasticityError."""

RAISED = re.compile(r"\w+ raised while (resolving interpolation|composing config): ")
"""Hydra's prefix of another error's message."""

AGAIN = "The same command again continues where this one stopped."
INTERRUPTED = f"Interrupted. {AGAIN}"


class JobsNotStarted(PlasticityError):
    """One of Hydra's own launchers failed."""


class Unread(PlasticityError):
    """The output of a training command is no longer read."""


@dataclass(frozen=True)
class Asked:
    """The runs that a command asks for; for a search, a sample of the runs that it could try.

    slurm: the parameters of its Slurm launcher; None for any other launcher.
    """

    resolved: Resolved
    slurm: Mapping[str, Any] | None


@runtime_checkable
class TakesRuns(Protocol):
    """A launcher that plans all runs of a sweep together."""

    def launch_runs(self, runs: Sequence[Run], settings: Settings) -> None:
        """Train the runs, or print their plan."""

    def at_once(self, run: Run, settings: Settings) -> int:
        """The number of such runs that are trained at once."""
        ...


def run_command(arguments: Sequence[str], with_process: bool = False) -> int:
    """Carries out a command; returns its exit status (see `status_of`).  with_process: see `command_begins`."""
    command_begins(with_process)
    # A process with several commands may change classes between them.
    with answers_kept() if with_process else contextlib.nullcontext():
        return status_of(lambda: _done(arguments), INTERRUPTED)


def resolve(arguments: Sequence[str]) -> Resolved:
    """The runs that a command names, without planning or training.  Raises PlasticityError."""
    return asked(arguments).resolved


def asked(arguments: Sequence[str]) -> Asked:
    """The runs and the Slurm launcher that a command names, without planning or training.  Raises PlasticityError."""
    with _in_sentences(), _hydra() as hydra:
        line = taken_apart(arguments)
        config = hydra.config_loader.load_configuration("config", list(line.composed), run_mode=RunMode.MULTIRUN)
        words = _words(line, hydra, config)
        search = search_of(*words)
        named = Resolved(search.samples, list(search.notes), search.settings) if search else resolved(*words)
        return Asked(named, slurm_parameters(config.hydra.launcher))


def _done(arguments: Sequence[str]) -> int:
    with _in_sentences():
        line = taken_apart(arguments)
        with _hydra() as hydra:
            if line.shown is None:
                _train(line, hydra)
            else:
                show(line, hydra)
    return 0


def _train(line: CommandLine, hydra: Hydra) -> None:
    """Passes all runs of a command to our launcher at once, or one by one to one of Hydra's own launchers."""
    config = hydra.compose_config("config", list(line.composed), RunMode.MULTIRUN, with_log_configuration=True)
    words = _words(line, hydra, config)
    named = search_of(*words) or with_data(resolved(*words), line.typed)
    save_answers()
    check_tracking(named.settings.tracking)
    for note in named.notes:
        print(note, file=sys.stderr)
    callbacks = Callbacks(config)
    packed = issubclass(get_class(config.hydra.launcher._target_), TakesRuns)
    if isinstance(named, Search) and not packed:
        name = config.hydra.runtime.choices["hydra/launcher"]
        raise ConfigError(f"hyperparams=search needs a launcher that trains packs, and hydra/launcher={name} does not.")
    callbacks.on_multirun_start(config=config, config_name="config")
    if isinstance(named, Search):
        _search(named, hydra, config, callbacks)
    elif packed:
        _hand_over(named.runs, named.settings, _launcher(hydra, config, callbacks))
    else:
        _start_jobs(named, line, hydra, config, callbacks)
    callbacks.on_multirun_end(config=config, config_name="config")


def _search(search: Search, hydra: Hydra, config: DictConfig, callbacks: Callbacks) -> None:
    """Trains a search, batch by batch, with our launcher."""
    from launch.search.loop import Searcher  # torch: a mistake need not wait for it

    launcher = _launcher(hydra, config, callbacks)
    Searcher(search, lambda runs, settings: _hand_over(runs, settings, launcher), launcher.at_once).run()


def _launcher(hydra: Hydra, config: DictConfig, callbacks: Callbacks, job: Any = lambda config: None) -> Any:
    """The launcher that the command names.  job: the function that Hydra's own launchers call for each run."""
    context = HydraContext(config_loader=hydra.config_loader, callbacks=callbacks)
    return Plugins.instance().instantiate_launcher(context, job, config)


def _hand_over(runs: Sequence[Run], settings: Settings, launcher: TakesRuns) -> None:
    """Trains all runs with our launcher."""
    try:
        launcher.launch_runs(runs, settings)
    except BrokenPipeError as error:
        if settings.dry_run:
            raise  # the reader of the plan has seen enough
        raise Unread(f"The output of this command is no longer read, so it has stopped. {AGAIN}") from error
    except KeyboardInterrupt as stopped:
        store = Store(settings.store)
        if settings.dry_run or not store.root.exists():
            raise
        words = f"{INTERRUPTED} How far it is: python -m launch status{store_option(store)}"
        raise KeyboardInterrupt(words) from stopped


def _start_jobs(resolved: Resolved, line: CommandLine, hydra: Hydra, config: DictConfig, callbacks: Callbacks) -> None:
    """Starts a job for each run with one of Hydra's own launchers.  Raises JobsNotStarted; the error of a job."""
    from launch.launchers.local import say_how_jobs_ended, to_be_started  # torch: a mistake need not wait for it

    name = config.hydra.runtime.choices["hydra/launcher"]
    sweep, runs = to_be_started(resolved.runs, resolved.settings, name)
    if not runs:
        return
    if config.hydra.sweep.dir == ".":  # the command names no folder for the files of the jobs
        folder = spelled(str(Store(resolved.settings.store).sweep_folder(sweep) / "jobs"))
        words = [*line.composed, f"hydra.sweep.dir={folder}"]
        config = hydra.compose_config("config", words, RunMode.MULTIRUN, with_log_configuration=True)
    launcher = _launcher(hydra, config, callbacks, TrainAlone(sweep))
    try:
        with importing_alike():  # its jobs find the same modules as this process, in any folder
            jobs = launcher.launch([overrides_of(run, resolved.settings) for run in runs], initial_job_idx=0)
    except (PlasticityError, *MISTAKES):
        raise
    except Exception as error:  # other programs have errors of many kinds
        words = f"hydra/launcher={name} cannot start its jobs, or has lost them: {first_line(error)}"
        raise JobsNotStarted(f"{words.rstrip('.')}. {AGAIN}") from error
    _ = [job.return_value for job in jobs]  # raises the job's error, if it had one
    say_how_jobs_ended(resolved.runs, resolved.settings)


@dataclass(frozen=True)
class TrainAlone:
    """The job function for Hydra's own launchers: trains one run in this process.  sweep: the run's sweep."""

    sweep: str

    def __call__(self, config: DictConfig) -> None:
        """Trains the run that the configuration describes."""
        from launch.launchers.local import train_here  # torch: --help need not wait for it

        run, settings = run_from(config, HydraConfig.get().runtime.choices)
        train_here([run], settings, self.sweep)


def _words(line: CommandLine, hydra: Hydra, config: DictConfig) -> tuple[Options, Preset, Sequence[str]]:
    """The options, the experiment's preset and the typed words.  config: composed from `line.composed`."""
    launcher, choices = config.hydra.launcher, config.hydra.runtime.choices
    check_heeded(line.composed, choices["hydra/launcher"], issubclass(get_class(launcher._target_), TakesRuns))
    preset = preset_of(config.hydra.sweeper, line.benchmark)
    return Options(hydra.config_loader, config, line.experiment), preset, line.typed


@contextlib.contextmanager
def _hydra() -> Iterator[Hydra]:
    """Hydra with conf/ and the plugins."""
    with initialize_config_dir(str(CONF), job_name="plasticity_lab", version_base="1.3"):
        yield GlobalHydra.instance().hydra


@contextlib.contextmanager
def _in_sentences() -> Iterator[None]:
    """Turns the errors in MISTAKES into ConfigError with a sentence."""
    try:
        with warnings.catch_warnings():
            # A folder of hydra.searchpath that does not exist is an error.
            warnings.filterwarnings("error", message=".* is not available", category=UserWarning)
            yield
    except MISTAKES as error:
        raise ConfigError(sentence(error)) from error


def sentence(error: BaseException) -> str:
    """The message for a mistake, in one line."""
    if isinstance(error, UserWarning):
        return f"A folder of hydra.searchpath does not exist: {error}"
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options is not None:
        group, _, option = error.missing_cfg_file.rpartition("/")
        return f"There is no {group}={option}{instead(option, error.options)}."
    if isinstance(error, YAMLError):
        return f"A file of the configuration is not YAML: {' '.join(str(error).split())}"
    cause: Any = error.__cause__ or error
    key = getattr(cause, "full_key", None)
    if key and "not in" in str(cause):
        return f"There is no setting '{key}'."
    if key and isinstance(cause, ValidationError):
        return f"{key}: {first_line(cause)}."
    if isinstance(error, InterpolationKeyError):
        return f"{first_line(error)}; a shell variable is filled in by the shell, unless single quotes prevent it."
    return first_line(error)


def first_line(error: BaseException) -> str:
    """The first line of an error's message; with the next one if it ends in a colon."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    line = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    return RAISED.sub("", line).strip('"')
