"""Reading one YAML file of conf/, or of a folder of hydra.searchpath; contents that Hydra cannot read are refused."""

import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from plasticity_lab.component import as_typed
from plasticity_lab.errors import ConfigError

CONF = Path(__file__).resolve().parents[2] / "conf"
PACKAGE = re.compile(r"^\s*#\s*@package\b\s*(\S*)", re.MULTILINE)


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
