"""What conf/ offers, composed by Hydra: once for each option, never for each combination."""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from omegaconf import DictConfig, OmegaConf

from launch.runs.arguments import Vocabulary, check_option
from launch.runs.rules import ADJUSTABLE, RULES
from launch.runs.settings import keys
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.settings import checked

CONF = Path(__file__).resolve().parents[2] / "conf"
PLUGINS = str(Path(__file__).resolve().parents[1] / "_plugins")

COMPONENTS = ("activation", "benchmark", "network", "optimizer", "intervention", "agent")
"""The groups whose options name a class and its settings: what a run is made of."""

GROUPS = (*COMPONENTS, *RULES)
"""All groups a run is asked for by, save `experiment`, which names words and not settings."""

ONCE = ("tracking",)
"""The groups of which a command makes one choice for all its runs: no part of what a run is, nor of its names."""

BOOKKEEPING = {
    "activation": ("grids",),
    "benchmark": ("stand_in", "default_network", "default_agent", "default_grid"),
}
"""Keys of an option's file that are no settings: they stay out of the science."""

PACKAGE = re.compile(r"^\s*#\s*@package\b", re.MULTILINE)

# Hydra finds sweepers and launchers only below a namespace package `hydra_plugins` on the path.
if PLUGINS not in sys.path:
    sys.path.append(PLUGINS)


@dataclass(frozen=True)
class Option:
    """One file of a group: the class it names (none for a rule, and for `auto`), its settings, and its other keys."""

    group: str
    name: str
    target: str | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    extras: Mapping[str, Any] = field(default_factory=dict)


class Options:
    """What conf/, and the folders of hydra.searchpath, offer to one command.

    chosen: the option of each group where the command says nothing: the experiment's, else config.yaml's.
    settings: the other keys of config.yaml, by dotted name.
    """

    def __init__(self, loader: ConfigLoader, config: DictConfig) -> None:
        self._loader, self._config = loader, config
        self._read: dict[tuple[str, str], Option] = {}
        self._folders = [Path(each.path) for each in config.hydra.runtime.config_sources if each.schema == "file"]
        self.experiment: str | None = config.hydra.runtime.choices["experiment"]
        self.chosen: dict[str, str] = {group: config.hydra.runtime.choices[group] for group in GROUPS}
        self.once: dict[str, str] = {group: config.hydra.runtime.choices[group] for group in ONCE}
        self._plain = _contents(loader.load_sweep_config(config, []) if self.experiment else config)
        self.settings = keys({key: value for key, value in self._plain.items() if key not in GROUPS})
        self.vocabulary = Vocabulary(Offered(loader, config), COMPONENTS, (*self.settings, *ADJUSTABLE))
        if self.experiment:
            self._check_experiment()

    def option(self, group: str, name: str) -> Option:
        """One option.  Raises ConfigError if there is none, or if its file sets anything outside its group."""
        if (group, name) not in self._read:
            self._read[group, name] = option_of(group, name, self._content(group, name))
        return self._read[group, name]

    def _content(self, group: str, name: str) -> Mapping[str, Any]:
        """What stands in an option's file; composed by Hydra (a twentieth of a second) only if the file asks for it."""
        for path in (folder / group / f"{name}.yaml" for folder in self._folders):
            if path.is_file():
                found = OmegaConf.load(path)
                if not isinstance(found, DictConfig):
                    raise ConfigError(f"{path} must hold keys and values, not a list.")
                if PACKAGE.search(path.read_text(encoding="utf-8")):
                    raise ConfigError(f"{path} has a @package line; an option's file sets its own group only.")
                if "defaults" not in found:
                    return OmegaConf.to_container(found, resolve=True)
                break
        return self._composed(group, name)

    def _composed(self, group: str, name: str) -> Mapping[str, Any]:
        check_option(group, name, self.vocabulary.options[group])
        composed = _contents(self._loader.load_sweep_config(self._config, [f"{group}={name}"]))
        elsewhere = [key for key in composed if key != group and composed[key] != self._plain.get(key)]
        if elsewhere:
            raise ConfigError(f"{group}={name} sets {', '.join(elsewhere)}; an option's file sets its own group only.")
        return composed.get(group) or {}

    def _check_experiment(self) -> None:
        """An experiment is a command line kept in a file; values in its body would bypass the order of precedence."""
        composed = _contents(self._config)
        chosen = self.chosen | self.once
        expected = self._plain | {group: self._content(group, name) for group, name in chosen.items()}
        touched = [key for key in composed if composed[key] != expected.get(key)]
        if touched:
            raise ConfigError(
                f"experiment={self.experiment} sets {', '.join(touched)} in its body; "
                f"an experiment's values belong under hydra.sweeper.params."
            )


class Offered(Mapping[str, list[str]]):
    """The options of each group, listed when first asked for."""

    def __init__(self, loader: ConfigLoader, config: DictConfig) -> None:
        # Without the overrides of hydra.*, folders of hydra.searchpath would be found by name but not by glob.
        self._loader, self._overrides = loader, list(config.hydra.overrides.hydra)
        self._listed: dict[str, list[str]] = {}

    def __getitem__(self, group: str) -> list[str]:
        if group not in (*GROUPS, *ONCE):
            raise KeyError(group)
        if group not in self._listed:
            found = self._loader.get_group_options(group, config_name="config", overrides=self._overrides)
            self._listed[group] = sorted(found)
        return self._listed[group]

    def __iter__(self) -> Iterator[str]:
        return iter((*GROUPS, *ONCE))

    def __len__(self) -> int:
        return len(GROUPS) + len(ONCE)


def _contents(config: DictConfig) -> dict[str, Any]:
    """The config without Hydra's own part, as plain dictionaries."""
    ours = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    found = OmegaConf.to_container(ours, resolve=True)
    found.pop("experiment", None)
    return found


def option_of(group: str, name: str, composed: Mapping[str, Any]) -> Option:
    """What the composed file of an option says.  Raises ConfigError for what a rule's file cannot hold."""
    if group in RULES:
        return Option(group, name, None, {}, checked(RULES[group], composed, f"{group}={name}: ").model_dump())
    aside = ("_target_", *BOOKKEEPING.get(group, ()))
    return Option(
        group,
        name,
        composed.get("_target_"),
        {key: value for key, value in composed.items() if key not in aside},
        {key: value for key, value in composed.items() if key in aside[1:]},
    )
