"""The command line: its flags, the words for Hydra, the words about runs, and the output of flags that show something.

These show the version, the help, a composed configuration, facts about Hydra, or completion.
"""

import argparse
import os
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NoReturn

from hydra._internal.hydra import Hydra
from hydra._internal.utils import get_args_parser
from hydra.types import RunMode
from omegaconf import OmegaConf

from launch.runs.files import CONF, folder_of, folders_of, options_in, without_benchmark
from launch.runs.words import plain, read, shown, spelled
from plasticity_lab.errors import ConfigError
from plasticity_lab.named_code import check_options_folder
from plasticity_lab.process.account import expanded
from plasticity_lab.records.provenance import version_line

OPTION = re.compile(r"[\w.-]{1,200}")
"""The pattern of an option's name, which is also the name of its file."""
SCHEMES = ("file", "pkg")
"""The kinds of folders in hydra.searchpath: on disk, or in a Python package."""
SHOWS = ("version", "help", "hydra_help", "cfg", "info", "shell_completion")
"""The flags that show something; without them, the command trains runs."""
REFUSED = {
    "config_path": "conf/ is always read; --config-dir DIR adds a folder with your options",
    "config_name": "conf/config.yaml is always read; --config-dir DIR adds a folder with your options",
    "experimental_rerun": "the same command again continues its sweep, rerun=true trains finished runs again",
}
"""Flags of Hydra that are refused, with the alternative."""
HEEDED = ("callbacks", "help", "hydra_help", "hydra_logging", "launcher", "searchpath", "verbose")
"""The settings hydra.* that have an effect with every launcher."""
OF_JOBS = ("env", "job", "job_logging", "output_subdir", "sweep")
"""Settings that affect only the jobs of Hydra's own launchers."""
OF_FOLDERS = ("output", "output_subdir", "run", "sweep")
"""Settings that name the folder for results in other Hydra programs."""


@dataclass(frozen=True)
class CommandLine:
    """A parsed command line.

    shown: the flag of SHOWS that is given; None to train runs. flags: all flags by name, as parsed. words: as typed.
    composed: words that Hydra composes: hydra.* and the experiment, which may set hydra.*. typed: all other words,
    which are about runs. Hydra would check their values against the default option of a group, not against the chosen
    option (`activation=relu,leaky_relu activation.negative_slope=0.1`). experiment: its name as typed. benchmark: the
    one at the end of that name, otherwise the typed benchmark.
    """

    shown: str | None
    flags: Mapping[str, Any]
    words: Sequence[str]
    composed: Sequence[str]
    typed: Sequence[str]
    experiment: str | None = None
    benchmark: str | None = None


def taken_apart(arguments: Sequence[str]) -> CommandLine:
    """Parses the arguments.  Raises ConfigError for unknown flags, and for flags and words of Hydra that do not fit."""
    parsed, unknown = _parser().parse_known_intermixed_args(list(arguments))
    if unknown:
        raise ConfigError(f"There is no flag {unknown[0]}; settings are written key=value, and --help lists them.")
    flags = vars(parsed)
    words: list[str] = flags.pop("words")
    _check(flags)
    if flags["config_dir"] is not None:
        words = [_searched(flags["config_dir"], words), *words]
    for word in words:
        if key_of(word) == "hydra.searchpath":
            _checked(word)
    words, experiment, benchmark = _preset_in(words)
    shown = next((flag for flag in SHOWS if flags[flag]), None)
    composed, typed = _split(words) if shown is None else ([], [])
    return CommandLine(shown, flags, words, composed, typed, experiment, benchmark)


def check_heeded(words: Sequence[str], launcher: str, takes_runs: bool) -> None:
    """Raises ConfigError for a word about Hydra that would change nothing.

    launcher: the launcher's name. takes_runs: whether it trains packs; Hydra's own launchers start a job for each run.
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
        raise ConfigError("--package names a part of the output of --cfg; give it with --cfg job.")
    if flags["resolve"] and not (flags["cfg"] or flags["help"]):
        raise ConfigError("--resolve fills in the references in the output of --cfg; give it with --cfg job.")


def _spelled(flag: str) -> str:
    return f"--{flag.replace('_', '-')}"


def _searched(folder: str, words: Sequence[str]) -> str:
    """--config-dir as a word."""
    if any(key_of(word) == "hydra.searchpath" for word in words):
        raise ConfigError("--config-dir and hydra.searchpath both name folders; name all in hydra.searchpath=[...].")
    path = expanded(folder).absolute()
    if not path.is_dir():
        raise ConfigError(f"--config-dir is {folder}, but there is no such folder.")
    return f"hydra.searchpath={spelled([f'file://{path}'])}"


def _preset_in(words: Sequence[str]) -> tuple[list[str], str | None, str | None]:
    """The words with the name of the experiment's file, and `CommandLine.experiment` and `CommandLine.benchmark`.

    Raises ConfigError for a file that Hydra would answer with a traceback.
    """
    benchmark = next((word.partition("=")[2] for word in words if key_of(word) == "benchmark"), None)
    named = {word: plain(read(word).value()) for word in words if key_of(word) == "experiment"}
    name = next(iter(named.values()), None)
    if len(named) != 1 or not isinstance(name, str) or not OPTION.fullmatch(name):
        return list(words), None, benchmark
    file, end = without_benchmark(name, _folders(words))
    written = words if file == name else [f"experiment={file}" if word in named else word for word in words]
    return list(written), name, end or benchmark


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words for Hydra, and the words about runs.  Raises ConfigError for a word that Hydra cannot read.

    `+experiment=NAME` and `experiment=null` are accepted too.
    """
    words = [word.removeprefix("+") if word.startswith("+experiment=") else word for word in words]
    words = [word for word in words if word != "experiment=null"]
    hydras = [word for word in words if key_of(word) == "experiment" or key_of(word).startswith(("hydra.", "hydra/"))]
    firsts: dict[str, str] = {}
    for word in hydras:  # Hydra would silently take the last of several
        first = firsts.setdefault(key_of(word).replace("/", "."), word)
        if first is not word:
            raise ConfigError(f"{key_of(word)} is given twice, in '{shown(first)}' and in '{shown(word)}'; give one.")
    checked = [_checked(word) for word in hydras]
    typed = [word for word in words if word not in hydras]
    for word in typed:
        if "${" in word:
            why = "nothing fills in; the shell fills in its variables outside of single quotes"
            raise ConfigError(f"'{shown(word)}' holds ${{…}}, which {why}.")
    return checked, typed


def key_of(word: str) -> str:
    """The key of a word, or the group."""
    return word.lstrip("+~ ").partition("=")[0].partition("@")[0]


def _checked(word: str) -> str:
    """The word for Hydra.  Raises ConfigError for a word that Hydra would answer with a traceback or hide from us.

    A folder of hydra.searchpath must not lie in a store.
    """
    key, override = key_of(word), read(word)
    if key in ("hydra/sweeper", "hydra.mode") or re.fullmatch(r"hydra\.sweeper(\..*)?", key):
        raise ConfigError(f"'{shown(word)}': {key} cannot be changed; runs are always resolved by our own sweeper.")
    if key == "experiment" and override.is_sweep_override():
        raise ConfigError(f"'{shown(word)}': an experiment is itself a sweep; give one at a time.")
    if key == "experiment" or key.startswith("hydra/"):
        name: Any = None if override.is_sweep_override() else plain(override.value())
        if not isinstance(name, str) or override.package is not None or word.startswith(("~", "++")):
            raise ConfigError(f"'{shown(word)}': {key} is chosen by the name of one option, as in {key}=NAME.")
        if not OPTION.fullmatch(name):
            raise ConfigError(f"There is no {key}={shown(name)}; an option's name has letters, digits, - and _.")
    if key == "hydra.searchpath":
        folders = plain(override.value())
        if not isinstance(folders, list) or not all(map(_is_place, folders)):
            raise ConfigError(f"'{shown(word)}': hydra.searchpath is a list of folders, as in [file:///home/me/conf].")
        for folder in folders:
            scheme, colon, path = folder.partition("://")
            if not colon or scheme == "file":
                check_options_folder(path if colon else scheme)
    return str(override.input_line)


def _folders(words: Sequence[str]) -> list[Traversable]:
    """The folders of options, in Hydra's order."""
    typed = [plain(read(word).value()) for word in words if key_of(word) == "hydra.searchpath"]
    places = [place.partition("://") for folders in typed for place in folders]
    return [CONF, *(folder_of(scheme, path) if path else folder_of("file", scheme) for scheme, _, path in places)]


def _is_place(folder: Any) -> bool:
    if not isinstance(folder, str):
        return False
    scheme, colon, path = folder.partition("://")
    return bool(path) and scheme in SCHEMES if colon else bool(folder)


def show(line: CommandLine, hydra: Hydra) -> None:
    """Prints the output of the flag `line.shown`.  Raises Hydra's errors for words that do not compose; ConfigError."""
    words = list(line.words)
    for word in words if line.shown in ("help", "cfg", "info") else ():
        if read(word).is_sweep_override():
            raise ConfigError(f"'{word}': --{line.shown} shows one configuration; give one value.")
    flags = line.flags
    shows: dict[str | None, Callable[[], object]] = {
        "version": lambda: print(version_line()),
        "help": lambda: print(_help(words, hydra, resolve=flags["resolve"])),
        "hydra_help": lambda: hydra.hydra_help("config", get_args_parser(), argparse.Namespace(overrides=words)),
        "cfg": lambda: hydra.show_cfg("config", words, flags["cfg"], flags["package"], flags["resolve"]),
        "info": lambda: hydra.show_info(flags["info"], "config", words),
        "shell_completion": lambda: _complete(words, hydra),
    }
    shows[line.shown]()


def _help(words: list[str], hydra: Hydra, resolve: bool) -> str:
    """hydra.help.template, filled in as Hydra does, but four times as fast."""
    config = hydra.compose_config("config", words, RunMode.RUN, with_log_configuration=True)
    without_hydra = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
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
        CONFIG=OmegaConf.to_yaml(without_hydra, resolve=resolve),
    )


def _complete(words: list[str], hydra: Hydra) -> None:
    """The script for bash's completion, and the answer to its queries.  Raises ConfigError for any other shell."""
    if words == ["install=bash"]:
        print(Path(__file__).with_name("completion.bash").read_text(encoding="utf-8"), end="")
    elif words == ["uninstall=bash"]:
        print("complete -r python python3; unset -f _plasticity_lab")
    elif words == ["query=bash"] and "COMP_LINE" in os.environ:
        hydra.shell_completion("config", words)
    else:
        raise ConfigError('Completion exists only for bash: eval "$(python -m plasticity_lab.main -sc install=bash)".')
