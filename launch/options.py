"""What conf/ offers, composed by Hydra: once for each option, never for each combination."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from omegaconf import DictConfig, OmegaConf

from launch.arguments import Vocabulary, check_option
from launch.settings import keys
from plasticity_lab.errors import ConfigError

CONF = Path(__file__).resolve().parent.parent / "conf"
PLUGINS = str(Path(__file__).resolve().parent / "_plugins")

COMPONENTS = ("activation", "benchmark", "network", "optimizer", "intervention", "agent")
"""The groups whose options name a class and its settings: what a run is made of."""

RULES = {"hyperparams": ("look_up",), "protocol": ("set",), "schedule": ("at_most",)}
"""The groups whose options say where settings come from, and the keys of their files."""

BOOKKEEPING = {"activation": ("grids",), "benchmark": ("stand_in", "default_network", "default_agent")}
"""Keys of an option's file that are no settings: they stay out of the science."""

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
        self.experiment: str | None = config.hydra.runtime.choices["experiment"]
        self.chosen: dict[str, str] = {group: config.hydra.runtime.choices[group] for group in (*COMPONENTS, *RULES)}
        # An experiment is a command line kept in a file: what it changes in the config itself would bypass precedence.
        self._plain = _contents(loader.load_sweep_config(config, []) if self.experiment else config)
        self.settings = keys({key: value for key, value in self._plain.items() if key not in (*COMPONENTS, *RULES)})
        if self.experiment:
            self._check_experiment()

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """All that a command can say."""
        # Without the overrides of hydra.*, folders of hydra.searchpath would be found by name but not by glob.
        ours = list(self._config.hydra.overrides.hydra)
        options = {
            group: sorted(self._loader.get_group_options(group, config_name="config", overrides=ours))
            for group in (*COMPONENTS, *RULES)
        }
        return Vocabulary(options, COMPONENTS, tuple(self.settings))

    def option(self, group: str, name: str) -> Option:
        """One option.  Raises ConfigError if there is none, or if its file sets anything outside its group."""
        if (group, name) not in self._read:
            check_option(group, name, self.vocabulary.options[group])
            self._read[group, name] = option_of(group, name, self._composed(group, name))
        return self._read[group, name]

    def _composed(self, group: str, name: str) -> Mapping[str, Any]:
        composed = _contents(self._loader.load_sweep_config(self._config, [f"{group}={name}"]))
        elsewhere = [key for key in composed if key != group and composed[key] != self._plain.get(key)]
        if elsewhere:
            raise ConfigError(f"{group}={name} sets {', '.join(elsewhere)}; an option's file sets its own group only.")
        return composed.get(group) or {}

    def _check_experiment(self) -> None:
        composed = _contents(self._config)
        expected = dict(self._plain)
        for group, name in self.chosen.items():
            if name in self.vocabulary.options[group]:
                expected[group] = self._composed(group, name)
        touched = [key for key in composed if (composed[key] or None) != (expected.get(key) or None)]
        if touched:
            raise ConfigError(
                f"experiment={self.experiment} sets {', '.join(touched)} in its body; "
                f"an experiment's values belong under hydra.sweeper.params."
            )


def _contents(config: DictConfig) -> dict[str, Any]:
    """The config without Hydra's own part, as plain dictionaries."""
    ours = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    found = OmegaConf.to_container(ours, resolve=True)
    found.pop("experiment", None)
    return found


def option_of(group: str, name: str, composed: Mapping[str, Any]) -> Option:
    """What the composed file of an option says.  Raises ConfigError for a key that a rule's file cannot have."""
    if group in RULES:
        unknown = [key for key in composed if key not in RULES[group]]
        if unknown:
            raise ConfigError(
                f"{group}={name} has the key '{unknown[0]}'; its file may have {', '.join(RULES[group])}."
            )
        return Option(group, name, None, {}, composed)
    aside = ("_target_", *BOOKKEEPING.get(group, ()))
    return Option(
        group,
        name,
        composed.get("_target_"),
        {key: value for key, value in composed.items() if key not in aside},
        {key: value for key, value in composed.items() if key in aside[1:]},
    )
