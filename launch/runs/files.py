"""The files of conf/, and of folders of hydra.searchpath; contents that Hydra cannot read are refused. Experiments.

An experiment's file has words, and how they change for another benchmark:

    for_benchmark:
      games:
        network: {impala: small_impala} # this value gives way to that one, in params and in arms
        optimizer.lr: 5e-4              # this value, whatever the experiment says of it
        benchmark.sticky: null          # no word about it

If these lines are below hydra.sweeper, `experiment=NAME benchmark=games` names runs on the embedded games. The command
`experiment=NAME_games` names the same runs.
"""

import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from launch.runs.words import spelled
from plasticity_lab.component import as_typed
from plasticity_lab.errors import ConfigError

CONF = Path(__file__).resolve().parents[2] / "conf"
PACKAGE = re.compile(r"^\s*#\s*@package\b\s*(\S*)", re.MULTILINE)


def table_in(file: str) -> Any:
    """The content of a YAML file of ours.  file: its path below launch/."""
    text = (CONF.parent / "launch" / file).read_text(encoding="utf-8")
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # libyaml's is ten times as fast


def folder_of(schema: str, path: str) -> Traversable:
    """A folder of Hydra's search path: on disk, or in a Python package.  Raises ConfigError for a missing one."""
    if schema != "pkg":
        return Path(path)
    try:
        return resources.files(path.replace("/", ".").rstrip("."))
    except (ImportError, ValueError) as error:
        raise ConfigError(f"A folder of hydra.searchpath does not exist: pkg://{path} is no Python package.") from error


def folders_of(config: DictConfig) -> list[Traversable]:
    """The folders of options, in Hydra's order.  config: composed, with Hydra's own part."""
    return [folder_of(each.schema, each.path) for each in config.hydra.runtime.config_sources if each.path]


def options_in(folders: Iterable[Traversable], group: str) -> list[str]:
    """The names of a group's options in any of the folders, sorted.

    Hydra's own list is the same, but Hydra composes the whole configuration again for each group.
    """
    of_group = [folder.joinpath(group) for folder in folders]
    files = [file.name for folder in of_group if folder.is_dir() for file in folder.iterdir() if file.is_file()]
    return sorted({name.removesuffix(".yaml") for name in files if name.endswith(".yaml")})


def option_in(file: Traversable) -> Mapping[str, Any]:
    """The keys and values of an option's file; references are resolved unless the file has a defaults list.

    Raises ConfigError for a file that holds something else, and for a @package line.
    """
    content, package = _read(file)
    if package is not None:
        raise ConfigError(f"{file} has a @package line; an option's file sets its own group only.")
    return content


def benchmarks_in(experiment: str, folders: Sequence[Traversable], above: Collection[str] = ()) -> set[str] | None:
    """The benchmarks below for_benchmark in an experiment's file and in the files of its defaults; None: no such file.

    above: the experiments that are built on it. Raises ConfigError for a file that Hydra would not understand, or that
    would change our sweeper.
    """
    files = [folder.joinpath("experiment").joinpath(f"{experiment}.yaml") for folder in folders]
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        return None
    content, package = _read(file)
    if content and package != "_global_":
        raise ConfigError(f"{file} needs the line `# @package _global_` at its beginning; without it, it says nothing.")
    hydra = content.get("hydra") or {}
    sweeper = (hydra.get("sweeper") or {}) if isinstance(hydra, Mapping) else None
    if not isinstance(sweeper, Mapping) or "mode" in hydra or not _has_words(sweeper):
        allowed = "sweeper.params (key: value for each word), sweeper.arms (a list of such words), "
        allowed += "sweeper.for_benchmark, and the keys of launcher"
        raise ConfigError(f"{file}: below hydra, an experiment may set {allowed}; only our own sweeper resolves runs.")
    named = [item for item in content.get("defaults", []) if isinstance(item, str) and item not in (experiment, *above)]
    of_bases = [benchmarks_in(item, folders, (experiment, *above)) or () for item in named]
    return set(sweeper.get("for_benchmark") or ()).union(*of_bases)


def _has_words(sweeper: Mapping[str, Any]) -> bool:
    """Whether an experiment's part below hydra.sweeper has only words and changes of words."""
    params, arms = sweeper.get("params") or {}, sweeper.get("arms") or []
    changes = sweeper.get("for_benchmark") or {}
    return (
        sweeper.keys() <= {"params", "arms", "for_benchmark"}
        and isinstance(arms, Sequence)
        and isinstance(changes, Mapping)
        and all(isinstance(words, Mapping) for words in (params, *arms, *changes.values()))
    )


def _read(file: Traversable) -> tuple[Mapping[str, Any], str | None]:
    """A file's content, and the package on its @package line; None without such a line.  Raises ConfigError."""
    try:
        text = file.read_text(encoding="utf-8")
        config = OmegaConf.load(io.StringIO(text))
        if not isinstance(config, DictConfig):
            raise ConfigError(f"{file} must hold keys and values, not a list.")
        content: Any = OmegaConf.to_container(config, resolve="defaults" not in config and not PACKAGE.search(text))
    except YAMLError as error:
        raise ConfigError(f"{file} is not YAML: {_problem(error)}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not a text in UTF-8; save it as UTF-8.") from error
    except OmegaConfBaseException as error:
        reason = str(error).splitlines()[0].replace("NoneType", "null")
        raise ConfigError(f"{file} cannot be read as keys and values: {reason}.") from error
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it holds one value alone, a number too long, or itself"
        raise ConfigError(f"{file} must hold keys and values: {reason}.") from error
    _check_defaults(file, content.get("defaults", []))
    line = PACKAGE.search(text)
    return content, line and line[1]


def _check_defaults(file: Traversable, defaults: Any) -> None:
    """Raises ConfigError unless the defaults list has only names of files and items of the form group: name."""
    for item in defaults if isinstance(defaults, list) else [defaults]:
        names = list(item.values()) if isinstance(item, Mapping) else [item]
        if not isinstance(defaults, list) or len(names) != 1 or not isinstance(names[0], str):
            raise ConfigError(f"{file}: defaults has {as_typed(item)}; it must be a list of names and of group: name.")


def _problem(error: YAMLError) -> str:
    problem = str(getattr(error, "problem", None) or error).replace("unhashable key", "a list or a mapping as a key")
    mark = getattr(error, "problem_mark", None)
    return " ".join(problem.split()) + (f" (line {mark.line + 1})" if mark else "")


@dataclass(frozen=True)
class Preset:
    """The words of an experiment, and the words that each of its arms adds or replaces.

    Arms differ in more than one setting, or in settings that others do not have, so no product of values names them
    all. Without arms: the words alone.
    """

    words: Sequence[str] = ()
    arms: Sequence[Sequence[str]] = ()


def preset_of(sweeper: Mapping[str, Any], benchmark: str | None) -> Preset:
    """The words that an experiment has for a benchmark.

    sweeper: the experiment's part below hydra.sweeper, composed. benchmark: as typed; None if the command names none.
    Raises ConfigError for a value without its counterpart.
    """
    params, arms = dict(sweeper["params"]), [dict(arm) for arm in sweeper["arms"]]
    if benchmark in sweeper["for_benchmark"].keys():
        changes = sweeper["for_benchmark"][benchmark]
        fixed = {key: value for key, value in changes.items() if value is not None and not isinstance(value, Mapping)}
        params = {**_changed(params, changes), "benchmark": benchmark, **fixed}
        arms = [_changed(arm, changes) for arm in arms]
    return Preset(_as_words(params), [_as_words(arm) for arm in arms])


def without_benchmark(name: str, folders: Sequence[Traversable]) -> tuple[str, str | None]:
    """The file of an experiment, and the benchmark at the end of the name, as in NAME_games; None if it ends with none.

    folders: the folders of options. Raises ConfigError for a file that is no experiment.
    """
    stem, _, benchmark = name.rpartition("_")
    if benchmarks_in(name, folders) is None and benchmark in (benchmarks_in(stem, folders) or ()):
        return stem, benchmark
    return name, None


def _changed(words: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The words with values of the other benchmark, and without the words that `changes` sets once for all arms."""
    kept = {key: value for key, value in words.items() if isinstance(changes.get(key, {}), Mapping)}
    return {key: _counterpart(key, value, changes[key]) if key in changes else value for key, value in kept.items()}


def _counterpart(key: str, values: Any, change: Mapping[Any, Any]) -> str:
    """The counterparts of one value, or of several values separated by commas.  change: value → its counterpart."""
    counterparts = {str(value): str(other) for value, other in change.items()}
    missing = [value for value in str(values).split(",") if value not in counterparts]
    if missing:
        known = f"{key}: {{{', '.join(counterparts)}}}"
        raise ConfigError(f"for_benchmark of the experiment lacks {key}={missing[0]}; add it to {known}.")
    return ",".join(counterparts[value] for value in str(values).split(","))


def _as_words(params: Mapping[str, Any]) -> list[str]:
    """Keys and values as on the command line; a string is written as it would be there."""
    return [f"{key}={value if isinstance(value, str) else spelled(value)}" for key, value in params.items()]
