"""A command line taken apart: its flags, the words that Hydra composes, and the words about runs."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from launch.runs.hydra_words import key_of, split
from launch.runs.words import spelled
from plasticity_lab.errors import ConfigError

SHOWS = ("version", "help", "hydra_help", "cfg", "info", "shell_completion")
"""The flags that show something; without any of them, the command trains runs."""

REFUSED = {
    "config_path": "conf/ is always read; --config-dir DIR adds a folder of your own options",
    "config_name": "conf/config.yaml is always read; --config-dir DIR adds a folder of your own options",
    "experimental_rerun": "the same command again continues where it stopped, rerun=true trains finished runs again",
}
"""Flags of Hydra's that mean nothing here, and what to say instead."""

HEEDED = ("callbacks", "help", "hydra_help", "hydra_logging", "launcher", "searchpath", "verbose")
"""The settings hydra.* that have an effect whichever launcher is chosen."""

OF_JOBS = ("env", "job", "job_logging", "output_subdir", "sweep")
"""Those that have one on the jobs that launchers of Hydra's own start, and on nothing else."""

OF_FOLDERS = ("output", "output_subdir", "run", "sweep")
"""Those by which other programs name the folder of their results."""


@dataclass(frozen=True)
class CommandLine:
    """What a command line says.

    shown: what is to be shown, a name of SHOWS; None where runs are to be trained. flags: all by name, as parsed.
    words: as they were typed. composed: those that Hydra composes, hydra.* and the experiment, which may set hydra.*.
    typed: all others, which are about runs; Hydra itself would check a value against the default option of its group,
    not against the chosen one (`activation=relu,leaky_relu activation.negative_slope=0.1`).
    """

    shown: str | None
    flags: Mapping[str, Any]
    words: Sequence[str]
    composed: Sequence[str]
    typed: Sequence[str]


def taken_apart(arguments: Sequence[str]) -> CommandLine:
    """What the arguments say.  Raises ConfigError for flags and words of Hydra's that do not exist or fit together."""
    parsed, unknown = _parser().parse_known_intermixed_args(list(arguments))
    if unknown:
        raise ConfigError(f"There is no flag {unknown[0]}; settings are written key=value, and --help lists them.")
    flags = vars(parsed)
    words: list[str] = flags.pop("words")
    _check(flags)
    if flags["config_dir"] is not None:
        words = [_searched(flags["config_dir"], words), *words]
    shown = next((flag for flag in SHOWS if flags[flag]), None)
    if shown is not None:
        return CommandLine(shown, flags, words, [], [])
    composed, typed = split(words)
    return CommandLine(None, flags, words, composed, typed)


def check_heeded(words: Sequence[str], launcher: str, takes_runs: bool) -> None:
    """Raises ConfigError for a word about Hydra that would change nothing.

    launcher: its name. takes_runs: whether it trains runs packed; others are Hydra's own, and start a job for each run.
    """
    for word in words:
        setting = key_of(word).removeprefix("hydra")[1:].replace("/", ".").partition(".")[0]
        if word.startswith("experiment=") or setting in HEEDED or (setting in OF_JOBS and not takes_runs):
            continue
        if setting in OF_FOLDERS:
            why = "all that runs leave behind lies in the store, and store=FOLDER names it"
        elif setting in OF_JOBS:
            why = f"it is about jobs of Hydra's own launchers, and hydra/launcher={launcher} is none of them"
        else:
            why = "Hydra fills it in itself"
        raise ConfigError(f"'{word}' would change nothing: {why}.")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message.removeprefix('argument ')}.")


def _parser() -> argparse.ArgumentParser:
    """Hydra's flags, by Hydra's names."""
    parser = _Parser(add_help=False)
    parser.add_argument("words", nargs="*")
    for name, short in {"--help": "-h", "--multirun": "-m", "--run": "-r", "--shell-completion": "-sc"}.items():
        parser.add_argument(name, short, action="store_true")
    for name in ("--version", "--hydra-help", "--resolve"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--cfg", "-c", choices=["job", "hydra", "all"])
    parser.add_argument("--package", "-p")
    about = ["all", "config", "defaults", "defaults-tree", "plugins", "searchpath"]
    parser.add_argument("--info", "-i", nargs="?", const="all", choices=about)
    parser.add_argument("--config-dir", "-cd")
    parser.add_argument("--config-path", "-cp")
    parser.add_argument("--config-name", "-cn")
    parser.add_argument("--experimental-rerun")
    return parser


def _check(flags: Mapping[str, Any]) -> None:
    for flag, instead in REFUSED.items():
        if flags[flag] is not None:
            raise ConfigError(f"{_spelled(flag)} is not taken: {instead}.")
    exclusive = [flag for flag in SHOWS if flags[flag]] or [flag for flag in ("run", "multirun") if flags[flag]]
    if len(exclusive) > 1:
        first, second = map(_spelled, exclusive[:2])
        raise ConfigError(f"{first} and {second} exclude each other; give one of them.")
    if flags["package"] is not None and not flags["cfg"]:
        raise ConfigError("--package names a part of what --cfg shows; give it with --cfg job.")
    if flags["resolve"] and not (flags["cfg"] or flags["help"]):
        raise ConfigError("--resolve fills in the references in what --cfg shows; give it with --cfg job.")


def _spelled(flag: str) -> str:
    return f"--{flag.replace('_', '-')}"


def _searched(folder: str, words: Sequence[str]) -> str:
    """The word that does what --config-dir does."""
    if any(key_of(word) == "hydra.searchpath" for word in words):
        raise ConfigError("--config-dir and hydra.searchpath both name folders; name all in hydra.searchpath=[...].")
    there = Path(folder).expanduser().absolute()
    if not there.is_dir():
        raise ConfigError(f"--config-dir is {folder}, but there is no such folder.")
    return f"hydra.searchpath={spelled([f'file://{there}'])}"
