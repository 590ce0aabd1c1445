"""The options of conf/, composed by Hydra: once for each option, never for each combination."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from omegaconf import DictConfig, OmegaConf

from launch.runs.arguments import Vocabulary, check_option
from launch.runs.files import CONF, folders_of, option_in, options_in
from launch.runs.groups import ADJUSTABLE, COMPONENTS, EXTRAS, GROUPS, RULES, Extras, alone_in
from launch.runs.settings import TEXTS, keys
from plasticity_lab.component import Component, load
from plasticity_lab.errors import ConfigError
from plasticity_lab.named_code import name_class
from plasticity_lab.records.settings import checked

PLUGINS = str(Path(__file__).resolve().parents[1] / "_plugins")

# Hydra finds sweepers and launchers only below a namespace package `hydra_plugins` on the path.
if PLUGINS not in sys.path:
    sys.path.append(PLUGINS)

ONCE = ("tracking",)
"""The groups with one choice for all runs of a command: no part of a run, nor of its names."""


@dataclass(frozen=True)
class Option:
    """One file of a group.

    target: the class it names; None for a rule, and for `auto`. settings: the class's. extras: the rest of the file, as
    the group's model declares it; for a rule the whole file.
    """

    group: str
    name: str
    target: str | None
    settings: Mapping[str, Any] = field(default_factory=dict)
    extras: Extras = field(default_factory=Extras)


class Options:
    """The options of conf/, and of the folders of hydra.searchpath, for one command.

    chosen: the default option of each group: the experiment's, or config.yaml's if the experiment names none.
    experiment: its name as typed, with or without a benchmark at the end (`launch.runs.files`). settings: the other
    keys of config.yaml, by dotted name. notes: a line for each file that is not read, because a file of another folder
    has its name.
    """

    def __init__(self, loader: ConfigLoader, config: DictConfig, experiment: str | None = None) -> None:
        self._loader, self._config = loader, config
        self._read: dict[tuple[str, str], Option] = {}
        self._folders = folders_of(config)
        self.notes: list[str] = []
        file: str | None = config.hydra.runtime.choices["experiment"]
        self.experiment = experiment or file
        self.chosen: dict[str, str] = {group: _chosen(config, group) for group in GROUPS}
        self.once: dict[str, str] = {group: config.hydra.runtime.choices[group] for group in ONCE}
        self._plain = _contents(loader.load_sweep_config(config, []) if file else config)
        self.settings = keys({key: value for key, value in self._plain.items() if key not in GROUPS})
        offered = {group: options_in(self._folders, group) for group in (*GROUPS, *ONCE)}
        several = {name: alone_in(name) for name, group in COMPONENTS.items() if group.several}
        self.vocabulary = Vocabulary(offered, COMPONENTS, (*self.settings, *ADJUSTABLE), TEXTS, several)
        if file:
            self._check_experiment(file)

    def option(self, group: str, name: str) -> Option:
        """One option.  Raises ConfigError if it does not exist, or if its file sets anything outside its group."""
        if (group, name) not in self._read:
            self._read[group, name] = option_of(group, name, self._content(group, name))
            self._note_hidden(group, name)
        return self._read[group, name]

    def _files(self, group: str, name: str) -> list[Traversable]:
        """The files of one option; the first folder is ours, and Hydra reads the first file."""
        files = (folder.joinpath(group).joinpath(f"{name}.yaml") for folder in self._folders)
        return [file for file in files if file.is_file()]

    def _note_hidden(self, group: str, name: str) -> None:
        first, *others = self._files(group, name) or [None]
        for other in others:
            why = f"{other} has the same name and is not read. Rename it to use it."
            self.notes.append(f"{group}={name} is read from {first}; {why}")

    def _content(self, group: str, name: str) -> Mapping[str, Any]:
        """The content of an option's file; Hydra composes it (a twentieth of a second) if it has a defaults list."""
        for file in self._files(group, name)[:1]:
            content = option_in(file)
            if "defaults" not in content:
                return content
        return self._composed(group, name)

    def _composed(self, group: str, name: str) -> Mapping[str, Any]:
        check_option(group, name, self.vocabulary.options[group])
        composed = _contents(self._loader.load_sweep_config(self._config, [f"{group}={name}"]))
        elsewhere = [key for key in composed if key != group and composed[key] != self._plain.get(key)]
        if elsewhere:
            raise ConfigError(f"{group}={name} sets {', '.join(elsewhere)}; an option's file sets its own group only.")
        return composed.get(group) or {}

    def _check_experiment(self, name: str) -> None:
        """An experiment is a command line kept in a file; values in its body would bypass the order of precedence."""
        self._note_hidden("experiment", name)
        composed = _contents(self._config)
        chosen = self.chosen | self.once
        expected = self._plain | {group: self._content(group, option) for group, option in chosen.items()}
        touched = [key for key in composed if composed[key] != expected.get(key)]
        if touched:
            where = "an experiment's values belong under hydra.sweeper.params"
            raise ConfigError(f"experiment={name} sets {', '.join(touched)} in its body; {where}.")


def classes_of(group: str) -> list[type[Component]]:
    """The classes that the files of conf/ name for a group, sorted by file name.  Raises ConfigError."""
    files = sorted((CONF / group).glob("*.yaml"))
    targets = [option_of(group, file.stem, option_in(file)).target for file in files]
    return [load(target) for target in dict.fromkeys(targets) if target is not None]


def option_of(group: str, name: str, content: Mapping[str, Any]) -> Option:
    """The content of an option's composed file; its class may be imported from now on.

    Only a command's own words lead to such files. Raises ConfigError for content that an option cannot have.
    """
    where = f"{group}={name}: "
    if group in RULES:
        return Option(group, name, None, {}, checked(RULES[group], content, where))
    model, target = EXTRAS.get(group, Extras), content.get("_target_")
    if target is not None and not (isinstance(target, str) and "." in target.strip(".")):
        raise ConfigError(f"{where}_target_ must name a class, as in plasticity_lab.activations.relu.ReLU.")
    if target is not None:
        name_class(target)
    extras = {key: value for key, value in content.items() if key in model.model_fields}
    settings = {key: value for key, value in content.items() if key != "_target_" and key not in extras}
    return Option(group, name, target, settings, checked(model, extras, where))


def _chosen(config: DictConfig, group: str) -> str:
    """The default option of a group.  Raises ConfigError if config.yaml makes no choice."""
    chosen = config.hydra.runtime.choices.get(group)
    if chosen is None:
        right = f"add an option to its defaults, as `- {group}: none`"
        raise ConfigError(f"{CONF / 'config.yaml'} chooses no {group}, which groups.yaml names; {right}.")
    return chosen


def _contents(config: DictConfig) -> dict[str, Any]:
    """The config without Hydra's own part, as plain dictionaries."""
    ours = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
    content: Any = OmegaConf.to_container(ours, resolve=True)
    content.pop("experiment", None)
    return content
