"""What a command shows instead of training: version, help, a composed configuration, facts of Hydra's, completion."""

import argparse
import os
import string
from pathlib import Path

from hydra._internal.hydra import Hydra
from hydra._internal.utils import get_args_parser
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from launch.command_line.words import CommandLine
from launch.runs.files import CONF, folders_of, options_in
from launch.runs.words import read
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.provenance import version_line

COMPLETION = Path(__file__).with_name("completion.bash")


def show(line: CommandLine, hydra: Hydra) -> None:
    """Prints it.  Raises what Hydra raises for words that do not compose; ConfigError."""
    if line.shown in ("help", "cfg", "info"):
        _check_single(line)
    words = list(line.words)
    if line.shown == "version":
        print(version_line())
    elif line.shown == "help":
        print(_help(words, hydra, resolve=line.flags["resolve"]))
    elif line.shown == "hydra_help":
        hydra.hydra_help("config", get_args_parser(), argparse.Namespace(overrides=words))
    elif line.shown == "cfg":
        hydra.show_cfg("config", words, line.flags["cfg"], line.flags["package"], line.flags["resolve"])
    elif line.shown == "info":
        hydra.show_info(line.flags["info"], "config", words)
    else:
        _complete(words, hydra)


def _check_single(line: CommandLine) -> None:
    for word in line.words:
        if read(word).is_sweep_override():
            raise ConfigError(f"'{word}': --{line.shown} shows one configuration; give one value.")


def _help(words: list[str], hydra: Hydra, resolve: bool) -> str:
    """hydra.help.template, filled in as Hydra fills it in; which takes four times as long over it."""
    config = hydra.compose_config("config", words, RunMode.RUN, with_log_configuration=True)
    template: str = config.hydra.help.template
    groups = []
    if "$APP_CONFIG_GROUPS" in template:
        folders = folders_of(config)
        for group in sorted(folder.name for folder in CONF.iterdir() if folder.is_dir() and folder.name != "hydra"):
            options = options_in(folders, group)
            groups += [f"{group}: {', '.join(options)}\n"] if options else []
    hydra_groups = ""
    if "$HYDRA_CONFIG_GROUPS" in template:
        hydra_groups = hydra.format_config_groups(lambda group: group.startswith("hydra/"))
    return string.Template(template).substitute(
        APP_CONFIG_GROUPS="".join(groups),
        HYDRA_CONFIG_GROUPS=hydra_groups,
        FLAGS_HELP=hydra.format_args_help(get_args_parser()) if "$FLAGS_HELP" in template else "",
        CONFIG=OmegaConf.to_yaml(_without_hydra(config), resolve=resolve),
    )


def _without_hydra(config: DictConfig) -> DictConfig:
    return OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])


def _complete(words: list[str], hydra: Hydra) -> None:
    """The script that makes bash ask us, and what it asks.  Raises ConfigError for any other shell."""
    if words == ["install=bash"]:
        print(COMPLETION.read_text(encoding="utf-8"), end="")
    elif words == ["uninstall=bash"]:
        print("complete -r python python3; unset -f _plasticity_lab")
    elif words == ["query=bash"] and "COMP_LINE" in os.environ:
        hydra.shell_completion("config", words)
    else:
        raise ConfigError('Completion is there for bash: eval "$(python -m plasticity_lab.main -sc install=bash)".')
