"""Activations by the words of a command, and those that the paper uses, out of conf/."""

import csv
import functools
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from plasticity_lab.activations.activation import Activation
from plasticity_lab.component import load_as, typed
from plasticity_lab.errors import ConfigError
from plasticity_lab.named_code import check_options_folder, name_class

CONF = Path(__file__).resolve().parents[2] / "conf"
PUBLISHED = {
    "best_split_cifar100.csv": "Table B2",
    "best_supervised.csv": "Table E2",
    "best_ppo.csv": "Table F1",
}
"""File of conf/published/ → the table that it holds; lines of Bo-PReLU and R-SeLU are from Table G4 instead of E2."""
G4 = ("bo_prelu", "rselu")
AN_EXAMPLE = "activation=swish activation.beta=2"


@dataclass(frozen=True)
class Named:
    """An activation with the name and the settings that make it."""

    name: str
    settings: Mapping[str, Any]
    activation: Activation


def names() -> list[str]:
    """The activations of conf/activation/."""
    return sorted(_files(CONF))


def named(name: str, settings: Mapping[str, Any], folder: Path = CONF) -> Named:
    """An activation with some settings; others are those of its file.  Raises ConfigError.

    folder: beside conf/, where `activation/` may have more of them.
    """
    check_options_folder(folder)
    files = _files(CONF) | _files(folder)
    if name not in files:
        raise ConfigError(f"There is no activation '{name}'; there are {', '.join(sorted(files))}.")
    own = _content(files[name])
    defaults = {key: value for key, value in own.items() if key not in ("_target_", "grids")}
    name_class(str(own.get("_target_")))
    cls = load_as(own.get("_target_"), Activation)
    given = typed(cls, "activation", name, defaults | dict(settings))
    return Named(name, given, cls(**given))


def by_words(words: Sequence[str], folder: Path = CONF) -> list[Named]:
    """The activations of a command's words, as `activation=swish activation.beta=0.5,1,2`.

    Several values stand with commas between, and every one goes with every other. Settings go to every activation that
    is named. folder: as in `named`.  Raises ConfigError for a word of another form, and for what is named twice.
    """
    chosen: dict[str, list[Any]] = {}
    for word in words:
        key, equals, values = word.partition("=")
        if not (equals and values) or not (key == "activation" or key.startswith("activation.")):
            raise ConfigError(f"'{word}' names no activation and no setting of one; write as in {AN_EXAMPLE}.")
        if key in chosen:
            raise ConfigError(f"{key} is given twice; several values are written with commas, as in {key}=1,2.")
        chosen[key] = [_value(key, value) for value in re.split(r",(?![^\[]*\])", values)]
    if "activation" not in chosen:
        raise ConfigError(f"No activation is named; write as in {AN_EXAMPLE}.")
    found = []
    for values in itertools.product(*chosen.values()):
        each = dict(zip(chosen, values, strict=True))
        settings = {key.removeprefix("activation."): value for key, value in each.items() if key != "activation"}
        found.append(named(str(each["activation"]), settings, folder))
    return found


def published() -> list[tuple[str, Named]]:
    """(table and benchmark, activation) of every line of the paper's best settings, in its order."""
    found = []
    for file, table in PUBLISHED.items():
        with (CONF / "published" / file).open(newline="", encoding="utf-8") as lines:
            for line in csv.DictReader(lines):
                where = "Table G4" if line["activation"] in G4 else table
                best = named(line["activation"], json.loads(line["hyperparameters"]))
                found.append((f"{where}, {line['benchmark']}", best))
    return found


def _files(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in (folder / "activation").glob("*.yaml")}


@functools.cache
def _content(file: Path) -> dict[str, Any]:
    """What an option's file holds.  Raises ConfigError if that is no settings."""
    try:
        content = OmegaConf.to_container(OmegaConf.load(file))
    except (OSError, OmegaConfBaseException, yaml.YAMLError) as error:
        raise ConfigError(f"{file} cannot be read: {str(error).splitlines()[0]}.") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{file} holds no settings; write `_target_` and a line for each setting.")
    return {str(key): value for key, value in content.items()}


def _value(key: str, text: str) -> Any:
    """A word's value as a config file would have it: 1e-3 is a number.  Raises ConfigError."""
    try:
        return OmegaConf.to_container(OmegaConf.create(f"value: {text}"))["value"]  # pyright: ignore
    except (OmegaConfBaseException, yaml.YAMLError) as error:
        raise ConfigError(f"The value of {key}, '{text}', cannot be read; write as in {AN_EXAMPLE}.") from error
