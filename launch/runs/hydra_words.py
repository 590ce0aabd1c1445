"""The words of a command that Hydra gets as they are: the experiment, and those that are about Hydra itself."""

import re
from collections.abc import Sequence
from importlib.resources.abc import Traversable
from typing import Any

from hydra.core.override_parser.types import Override

from launch.runs.files import check_experiment, folder_of
from launch.runs.options import CONF
from launch.runs.words import plain, read, shown
from plasticity_lab.errors import ConfigError

OPTION = re.compile(r"[\w.-]{1,200}")
"""Names that a file can have."""
SCHEMES = ("file", "pkg")
"""Where a folder of hydra.searchpath can lie: on the disk, or in a Python package."""


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words that Hydra gets, and those about runs.  Raises ConfigError for one of either that Hydra cannot take.

    `+experiment=` and `experiment=null` are what some type for an experiment and for none.
    """
    words = [word.removeprefix("+") if word.startswith("+experiment=") else word for word in words]
    words = [word for word in words if word != "experiment=null"]
    hydras = [word for word in words if key_of(word) == "experiment" or key_of(word).startswith(("hydra.", "hydra/"))]
    experiments = [word for word in hydras if key_of(word) == "experiment"]
    if len(experiments) > 1:
        raise ConfigError(
            f"experiment is given twice, in '{shown(experiments[0])}' and in '{shown(experiments[1])}'; an experiment "
            "is itself a sweep; give one at a time."
        )
    checked = [_checked(word) for word in hydras]
    for word in experiments:
        _check_file(str(plain(read(word).value())), _folders(hydras))
    typed = [word for word in words if word not in hydras]
    for word in typed:
        if "${" in word:
            raise ConfigError(
                f"'{shown(word)}' holds ${{…}}, which nothing fills in; a shell variable is filled in by the shell, "
                "unless single quotes prevent it."
            )
    return checked, typed


def key_of(word: str) -> str:
    """The key of a word, or the group."""
    return word.lstrip("+~ ").partition("=")[0].partition("@")[0]


def _checked(word: str) -> str:
    """The word as Hydra can read it.  Raises ConfigError for what it would answer with a traceback or keep from us."""
    key, override = key_of(word), read(word)
    if key in ("hydra/sweeper", "hydra.mode") or re.fullmatch(r"hydra\.sweeper(\..*)?", key):
        raise ConfigError(f"'{shown(word)}': {key} cannot be changed; runs are always resolved by our own sweeper.")
    if key == "experiment" and override.is_sweep_override():
        raise ConfigError(f"'{shown(word)}': an experiment is itself a sweep; give one at a time.")
    if key == "experiment" or key.startswith("hydra/"):
        name = _name(override)
        if name is None or override.package is not None or word.startswith(("~", "++")):
            raise ConfigError(f"'{shown(word)}': {key} is chosen by the name of one option, as in {key}=NAME.")
        if not OPTION.fullmatch(name):
            raise ConfigError(f"There is no {key}={shown(name)}; an option's name has letters, digits, - and _.")
    if key == "hydra.searchpath":
        folders = plain(override.value())
        if not isinstance(folders, list) or not all(isinstance(each, str) and _is_place(each) for each in folders):
            raise ConfigError(f"'{shown(word)}': hydra.searchpath is a list of folders, as in [file:///home/me/conf].")
    return str(override.input_line)


def _folders(hydras: Sequence[str]) -> list[Traversable]:
    """Where options lie, in the order in which Hydra looks there."""
    typed = [plain(read(word).value()) for word in hydras if key_of(word) == "hydra.searchpath"]
    places = [place.partition("://") for folders in typed for place in folders]
    return [CONF, *(folder_of(scheme, path) if path else folder_of("file", scheme) for scheme, _, path in places)]


def _check_file(experiment: str, folders: Sequence[Traversable]) -> None:
    """Raises ConfigError for an experiment's file that Hydra would answer with a traceback."""
    for folder in folders:
        file = folder.joinpath("experiment").joinpath(f"{experiment}.yaml")
        if file.is_file():
            return check_experiment(file)


def _name(override: Override) -> str | None:
    value: Any = plain(override.value())
    return value if isinstance(value, str) and not override.is_sweep_override() else None


def _is_place(folder: str) -> bool:
    scheme, colon, path = folder.partition("://")
    return bool(path) and scheme in SCHEMES if colon else bool(folder)
