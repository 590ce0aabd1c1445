"""The words of a command line, and of an experiment's sweep, as the choices and values they name."""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override, QuotedString
from hydra.errors import HydraException

from launch.runs.misread import why
from plasticity_lab.errors import ConfigError


@dataclass(frozen=True)
class Vocabulary:
    """What can be said: the options of each group, the groups whose options have settings, and the other keys."""

    options: Mapping[str, Sequence[str]]
    components: Collection[str]
    keys: Collection[str]


@dataclass(frozen=True)
class Axes:
    """What was said: the options of each group that was named, and the values of each key; one of them is no sweep."""

    choices: Mapping[str, Sequence[str]]
    values: Mapping[str, Sequence[Any]]


def parse(words: Iterable[str], vocabulary: Vocabulary) -> Axes:
    """What the words say, in Hydra's grammar: `a=x`, `a=x,y`, `a=range(0,5)`, `group=glob(*)`.

    Raises ConfigError for a word that cannot be read, a key or option that does not exist, a key said twice, and for a
    list or glob that names nothing.
    """
    choices: dict[str, list[str]] = {}
    values: dict[str, list[Any]] = {}
    said: dict[str, str] = {}
    for word in words:
        override = read(word)
        key = override.key_or_group
        if override.package is not None or override.is_delete():
            raise ConfigError(f"'{word}': a setting can only be given another value, as in {key.split('.')[0]}=...")
        if key in said:
            raise ConfigError(
                f"{key} is given twice, in '{said[key]}' and in '{word}'; several values are written {key}=one,other."
            )
        if word.endswith("="):
            raise ConfigError(
                f"'{word}' has no value, as where a shell variable is empty; write it right after the =, null for none."
            )
        said[key] = word
        if key in vocabulary.options:
            choices[key] = _options(override, word, vocabulary.options[key])
        else:
            _check_key(key, vocabulary)
            values[key] = _values(override, word)
    return Axes(choices, values)


def read(word: str) -> Override:
    """One word, parsed.  Raises ConfigError if it is not key=value."""
    try:
        return OverridesParser.create().parse_overrides([word])[0]
    except HydraException as error:
        raise ConfigError(f"'{word}' {why(word)}.") from error


def check_option(group: str, name: str, options: Sequence[str]) -> None:
    """Raises ConfigError if the group has no option of that name."""
    if name not in options:
        hint = f" (a pattern is written '{group}=glob({name})', in quotes)" if set(name) & set("*?") else ""
        raise ConfigError(f"There is no {group}={name}{hint}{instead(name, options)}.")


def instead(name: str, options: Collection[str]) -> str:
    """The end of a sentence about a name that does not exist: the one that may be meant, and all there are."""
    near = meant(name, options)
    hint = f" (did you mean {near}?)" if near else ""
    return f"{hint}; there are {', '.join(options)}" if options else "; there is none"


def meant(name: str, options: Collection[str]) -> str | None:
    """The option that a misspelt name comes near to."""
    near = difflib.get_close_matches(name.lower(), list(options), 1)
    return near[0] if near else None


def plain(value: Any) -> Any:
    """A parsed value without the parser's own types."""
    if isinstance(value, QuotedString):
        return value.text
    if isinstance(value, list):
        return [plain(element) for element in value]
    if isinstance(value, dict):
        return {plain(key): plain(element) for key, element in value.items()}
    return value


def _options(override: Override, word: str, options: Sequence[str]) -> list[str]:
    group, value = override.key_or_group, override.value()
    if isinstance(value, Glob):
        names = value.filter(sorted(options))
    elif override.is_sweep_override():
        names = [str(element) for element in _values(override, word)]
    elif isinstance(value, list | dict):
        raise ConfigError(f"'{word}' is a list; several options are written {group}=one,other.")
    else:
        names = ["null" if value is None else str(value)]
    if not names:
        raise ConfigError(f"'{word}' matches no option of {group}{instead('', options)}.")
    for name in names:
        check_option(group, name, options)
    return names


def _values(override: Override, word: str) -> list[Any]:
    if not override.is_sweep_override():
        return [plain(override.value())]
    if not override.is_discrete_sweep() or isinstance(override.value(), Glob):
        raise ConfigError(f"'{word}' is not a list of values; write {override.key_or_group}=one,other or =range(0,5).")
    values = [plain(element) for element in override.sweep_iterator()]
    if not values:
        raise ConfigError(f"'{word}' names no value at all.")
    return values


def _check_key(key: str, vocabulary: Vocabulary) -> None:
    group, dot, setting = key.partition(".")
    if key in vocabulary.keys or (dot and setting and group in vocabulary.components):
        return
    if dot and group in vocabulary.options:
        raise ConfigError(
            f"There is no setting '{key}': {group} is only chosen by name{instead('', vocabulary.options[group])}."
        )
    everything = [*vocabulary.options, *vocabulary.keys, *(f"{group}.<setting>" for group in vocabulary.components)]
    alone = not dot and meant(key, everything) is None
    hint = " (a setting of a choice is written with its group, as in optimizer.lr)" if alone else ""
    raise ConfigError(f"There is no setting '{key}'{hint}{instead(key, everything)}.")
