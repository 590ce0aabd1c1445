"""The command line before and after Hydra: what Hydra is to see of it, and one sentence for every mistake."""

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import hydra
from hydra import initialize_config_dir
from hydra._internal.utils import get_args_parser
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, MissingConfigException
from hydra.types import RunMode
from omegaconf import DictConfig
from omegaconf.errors import InterpolationKeyError, OmegaConfBaseException, ValidationError
from yaml import YAMLError

from launch.launchers.slurm.parameters import slurm_parameters
from launch.runs.arguments import instead, read
from launch.runs.options import CONF, Options
from launch.runs.overrides import run_from, spelled
from launch.runs.resolve import Resolved, resolved
from launch.sweeper import preset_words
from plasticity_lab.errors import ConfigError, PlasticityError

TRACE = "HYDRA_FULL_ERROR"
MISTAKES = (HydraException, OmegaConfBaseException, PlasticityError, YAMLError, UserWarning)
"""What a mistake in a command comes out as."""


@dataclass(frozen=True)
class Asked:
    """What a command asks for.  slurm: the parameters of its Slurm launcher; None where another one is to train it."""

    resolved: Resolved
    slurm: Mapping[str, Any] | None


@hydra.main(config_path=str(CONF), config_name="config", version_base="1.3")
def train_alone(config: DictConfig) -> None:
    """One run in this process: what launchers of Hydra's own call for each of their jobs."""
    from launch.launchers.local import train_here  # torch: --help need not wait for it

    run, settings = run_from(config, HydraConfig.get().runtime.choices)
    train_here([run], settings)


def for_hydra(arguments: Sequence[str]) -> list[str]:
    """The arguments as Hydra gets them: all words about runs packed into one parameter of our sweeper.

    Hydra itself would check a value against the default option of its group, not against the chosen one
    (`activation=relu,leaky_relu activation.negative_slope=0.1`). Flags, hydra.* and the experiment, which may set
    hydra.*, stay as they are; so does everything where Hydra only shows a configuration.  Raises ConfigError.
    """
    parsed, unknown = get_args_parser().parse_known_intermixed_args(list(arguments))
    if unknown:
        raise ConfigError(f"There is no flag {unknown[0]}; settings are written key=value, and --help lists them.")
    only_shown = [flag for flag in ("cfg", "info", "shell_completion") if getattr(parsed, flag)]
    exclusive = only_shown or [flag for flag in ("run", "multirun") if getattr(parsed, flag)]
    if len(exclusive) > 1:
        raise ConfigError(f"--{exclusive[0]} and --{exclusive[1]} exclude each other; give one of them.")
    if parsed.help or parsed.hydra_help or only_shown:
        return [word for word in arguments if not (only_shown and word in ("-m", "--multirun"))]
    words = [word.removeprefix("+") if word.startswith("+experiment=") else word for word in parsed.overrides]
    words = [word for word in words if word != "experiment=null"]
    hydras = [word for word in words if _is_hydras(word)]
    typed = [word for word in words if word not in hydras]
    flags = [word for word in arguments if word not in parsed.overrides]
    return [*flags, *hydras, *([f"hydra.sweeper.typed={spelled(typed)}"] if typed else [])]


def _is_hydras(word: str) -> bool:
    key = word.lstrip("+~").partition("=")[0]
    if key == "experiment" and read(word).is_sweep_override():
        raise ConfigError(f"'{word}': an experiment is itself a sweep; give one at a time.")
    if key in ("hydra/sweeper", "hydra.mode"):
        raise ConfigError(f"'{word}': {key} cannot be changed; runs are always resolved by our own sweeper.")
    return key == "experiment" or key.startswith(("hydra.", "hydra/"))


def resolve(arguments: Sequence[str]) -> Resolved:
    """The runs that a command names, none of them planned or trained.  Raises what `run_command` puts in a sentence."""
    return _composed(arguments).resolved


def asked(arguments: Sequence[str]) -> Asked:
    """What a command names, for those that only look at it.  Raises PlasticityError with the sentence of a mistake."""
    try:
        with _no_folder_missing():
            return _composed(arguments)
    except MISTAKES as error:
        raise error if isinstance(error, PlasticityError) else ConfigError(sentence(error)) from error


def _composed(arguments: Sequence[str]) -> Asked:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        config = loader.load_configuration("config", for_hydra(arguments), run_mode=RunMode.MULTIRUN)
        sweeper = config.hydra.sweeper
        found = resolved(Options(loader, config), preset_words(sweeper.params), list(sweeper.typed))
        return Asked(found, slurm_parameters(config.hydra.launcher))


@contextlib.contextmanager
def _no_folder_missing() -> Iterator[None]:
    """Makes an error of a folder of hydra.searchpath that does not exist."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".* is not available", category=UserWarning)
        yield


def run_command(arguments: Sequence[str]) -> int:
    """Runs a command; the status to exit with: 0, 1 after a mistake (one sentence on stderr), 130 after Ctrl-C."""
    before, sys.argv = sys.argv, sys.argv[:1]
    traced = os.environ.get(TRACE)
    os.environ[TRACE] = "1"  # makes Hydra raise what it would print with a traceback and exit on
    try:
        sys.argv = [*sys.argv, *for_hydra(arguments)]
        with _no_folder_missing():
            train_alone()
    except KeyboardInterrupt:
        print("Interrupted. The same command again continues where this one stopped.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read on (`--help | head`) has seen enough. Python flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MISTAKES as error:
        if traced == "1":
            raise
        print(sentence(error), file=sys.stderr)
        return 1
    finally:
        sys.argv = before
        if traced is None:
            del os.environ[TRACE]
        else:
            os.environ[TRACE] = traced
    return 0


def sentence(error: BaseException) -> str:
    """What a mistake comes down to, in one line."""
    if isinstance(error, PlasticityError):
        return str(error)
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
    """The first line of what an error says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
