"""The words of a command line, and of an experiment's sweep, as the choices and values they name."""

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, inf, isfinite, prod
from typing import Any

from hydra.core.override_parser.types import ChoiceSweep, Glob, IntervalSweep, Override, RangeSweep, Sweep

from launch.runs.words import plain, read, shown, spelled
from launch.wording import some
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.searches.space import LOG, Range
from plasticity_lab.run import JOINED

MOST_RUNS = 1_000_000
"""The most runs of one command: planning them takes some 4 GiB and two minutes."""


@dataclass(frozen=True)
class Vocabulary:
    """The words that a command can have.

    options: group → the names of its options. components: groups with options that have settings. keys: all other keys.
    texts: keys with a text as value, even if it looks like a number. several: groups that take a list of options →
    their options that cannot be in a list.
    """

    options: Mapping[str, Sequence[str]]
    components: Collection[str]
    keys: Collection[str]
    texts: Collection[str] = ()
    several: Mapping[str, Collection[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Axes:
    """The words of a command: group → options, key → values. One option or value is no sweep.

    A list of options is named by all their names, JOINED.
    """

    choices: Mapping[str, Sequence[str]]
    values: Mapping[str, Sequence[Any]]


def parse(words: Iterable[str], vocabulary: Vocabulary) -> Axes:
    """The meaning of words in Hydra's grammar: `a=x`, `a=x,y`, `a=range(0,5)`, `group=glob(*)`, `a.b=interval(0,1)`.

    Raises ConfigError for a word that cannot be read, for a key or option that does not exist, and for a key given
    twice. Also for a range, list or glob that names nothing, or more than a command may name.
    """
    choices: dict[str, list[str]] = {}
    values: dict[str, list[Any]] = {}
    said: dict[str, str] = {}
    for word in words:
        override = read(word)
        key = override.key_or_group
        if not key:
            raise ConfigError(f"'{shown(word)}' names no setting before the =; a setting is written as in seed=0.")
        if override.package is not None or override.is_delete():
            raise ConfigError(f"'{shown(word)}': a setting only takes a value, as in {shown(key.split('.')[0])}=...")
        if key in said:
            twice = f"{shown(key)} is given twice, in '{said[key]}' and in '{shown(word)}'"
            raise ConfigError(f"{twice}; several values are written {shown(key)}=one,other.")
        if word.rstrip().endswith("="):
            raise ConfigError(f"'{shown(word)}' has no value (is a shell variable empty?); null is written out.")
        said[key] = shown(word)
        if key in vocabulary.options:
            choices[key] = _options(override, said[key], vocabulary.options[key], vocabulary.several.get(key))
        else:
            _check_key(key, vocabulary)
            can_be_searched = key.partition(".")[0] in vocabulary.components
            values[key] = _values(override, said[key], key in vocabulary.texts, can_be_searched)
    return Axes(choices, values)


def together(preset: Axes, typed: Axes) -> Axes:
    """The words of an experiment and the command line; a typed word replaces the experiment's word for the same key."""
    return Axes({**preset.choices, **typed.choices}, {**preset.values, **typed.values})


def distinct(said: Axes) -> tuple[Axes, list[str]]:
    """The same without repeated values, and a line for each key that had some."""
    lines: list[str] = []

    def once(key: str, values: Sequence[Any]) -> list[Any]:
        different = {repr(value): value for value in values}  # repr distinguishes 1, 1.0 and true
        counts = Counter(map(repr, values))
        if again := [shown(str(value)) for spelling, value in different.items() if counts[spelling] > 1]:
            verb = "is" if len(again) == 1 else "are"
            lines.append(f"{key}: {some(again)} {verb} given more than once; each value counts once.")
        return list(different.values())

    choices = {key: once(key, names) for key, names in said.choices.items()}
    return Axes(choices, {key: once(key, values) for key, values in said.values.items()}), lines


def check_option(group: str, name: str, options: Sequence[str]) -> None:
    """Raises ConfigError if the group has no option of that name."""
    if name not in options:
        hint = f" (a pattern is written '{group}=glob({name})', in quotes)" if set(name) & set("*?") else ""
        raise ConfigError(f"There is no {group}={shown(name)}{hint}{instead(name, options)}.")


def instead(name: str, options: Collection[str]) -> str:
    """The end of a sentence about a name that does not exist: the most similar name, and all existing ones."""
    near = meant(name, options)
    hint = f" (did you mean {near}?)" if near else ""
    return f"{hint}; there are {', '.join(options)}" if options else "; no other exists"


def meant(name: str, options: Collection[str]) -> str | None:
    """The option that is most similar to a misspelt name; None if none is similar."""
    near = difflib.get_close_matches(shown(name).lower(), list(options), 1)
    return near[0] if near else None


def _options(override: Override, word: str, options: Sequence[str], alone: Collection[str] | None) -> list[str]:
    """The options that a word names.  alone: the options that cannot be in a list; None if the group takes no lists."""
    group, value = override.key_or_group, override.value()
    if isinstance(value, Glob):
        names = value.filter(sorted(options))
        if not names:
            raise ConfigError(f"'{word}' matches no option of {group}{instead('', options)}.")
        return names
    values = values_of(override, word) if override.is_sweep_override() else [plain(value)]
    for each in values:
        if isinstance(each, dict) or (isinstance(each, list) and alone is None):
            kind = "a list" if isinstance(each, list) else "no name"
            raise ConfigError(f"'{word}' is {kind}; several options are written {group}=one,other.")
    if alone is None:
        names = [each if isinstance(each, str) else spelled(each) for each in values]
        for name in names:
            check_option(group, name, options)
        return names
    return [_listed(group, each, word, options, alone) for each in values]


def _listed(group: str, value: Any, word: str, options: Sequence[str], alone: Collection[str]) -> str:
    """One option, or a list of options as `[one,other]` or `one+other`, as one joined name.  Raises ConfigError."""
    names = value if isinstance(value, list) else str(value if isinstance(value, str) else spelled(value)).split(JOINED)
    if not names:
        right = f"{group}={next(iter(alone))}" if alone else f"{group}=[one,other]"
        raise ConfigError(f"'{word}' names no option; write {right}.")
    for name in names:
        if isinstance(name, list | dict):
            raise ConfigError(f"'{word}' has a list within a list; options that are chosen together are [one,other].")
        check_option(group, name if isinstance(name, str) else spelled(name), options)
        if len(names) > 1 and name in alone:
            raise ConfigError(f"'{word}': {group}={name} cannot be combined; leave it out of the list, or the others.")
        if names.count(name) > 1:
            raise ConfigError(f"'{word}' names {name} more than once; each option of a list is named once.")
    return JOINED.join(names)


def _values(override: Override, word: str, is_text: bool, can_be_searched: bool) -> list[Any]:
    if can_be_searched and isinstance(sweep := override.value(), IntervalSweep):
        return [range_of(sweep, word)]
    if override.is_sweep_override():
        return values_of(override, word)
    value = plain(override.value())
    if is_text and isinstance(value, bool | int | float):
        value = str(override.input_line).partition("=")[2].strip()
    return [value]


def _check_key(key: str, vocabulary: Vocabulary) -> None:
    group, dot, setting = key.partition(".")
    if key in vocabulary.keys or (dot and setting and group in vocabulary.components):
        return
    if of_group := [known for known in vocabulary.keys if dot and known.startswith(f"{group}.")]:
        raise ConfigError(f"There is no setting '{shown(key)}'{instead(key, of_group)}.")
    if dot and group in vocabulary.options:
        names = instead("", vocabulary.options[group])
        raise ConfigError(f"There is no setting '{shown(key)}': {group} is only chosen by name{names}.")
    everything = [*vocabulary.options, *vocabulary.keys, *(f"{group}.<setting>" for group in vocabulary.components)]
    alone = not dot and meant(key, everything) is None
    hint = " (a setting of a choice is written with its group, as in optimizer.lr)" if alone else ""
    raise ConfigError(f"There is no setting '{shown(key)}'{hint}{instead(key, everything)}.")


def values_of(override: Override, word: str) -> list[Any]:
    """The values of a sweep, as listed.  Raises ConfigError for a word that is no sweep, or has none or too many."""
    sweep, key = override.value(), override.key_or_group
    if not isinstance(sweep, ChoiceSweep | RangeSweep):
        raise ConfigError(f"'{word}' is not a list of values; write {key}=one,other or =range(0,5).")
    if isinstance(sweep, RangeSweep):
        check_count({key: _length(sweep, word)})
        # In seed=range(0,1,0.5) only 0.5 is refused: 0.0 becomes the seed 0.
        numbers: Any = override.sweep_iterator()
        return [int(number) if number == int(number) else number for number in numbers]
    if any(isinstance(value, Sweep | Glob) for value in sweep.list):
        raise ConfigError(f"'{word}' has a range or a pattern among other values; give it alone, or each value.")
    check_count({key: len(sweep.list)})
    return [plain(value) for value in override.sweep_iterator()]


def check_count(axes: Mapping[str, int]) -> None:
    """Raises ConfigError if the product of the axes, key → number of its values, is more than MOST_RUNS."""
    total = prod(axes.values())
    if total <= MOST_RUNS:
        return
    factors = sorted(((count, key) for key, count in axes.items() if count > 1), reverse=True)
    product = " × ".join(f"{_large(count)} of {key}" for count, key in factors)
    most = f"at most {MOST_RUNS:,} are allowed; give fewer values, or several commands"
    raise ConfigError(f"This command names {_large(total)} runs ({product}); {most}.")


def _length(sweep: RangeSweep, word: str) -> int:
    start, stop, step = sweep.start or 0, sweep.stop, sweep.step
    if stop is None or not all(abs(number) < inf for number in (start, stop, step)) or step == 0:
        raise ConfigError(f"'{word}': a range takes finite numbers and a step other than 0, as in range(0.1,0.5,0.1).")
    count = max(0, ceil((Fraction(stop) - Fraction(start)) / Fraction(step)))
    if count == 0:
        towards = f"; from {start} to {stop} the step has to be {'above' if stop > start else 'below'} 0"
        raise ConfigError(f"'{word}' names no value at all{towards if start != stop else ''}.")
    return count


def _large(count: int) -> str:
    return f"{count:,}" if count < 10**15 else "more than a million billion"


# Ranges for a search of a setting's best value, in Hydra's grammar.
#
# `interval(0,1)`; `int(interval(4,16))`, whole numbers; `tag(log,interval(1e-5,1e-2))`, searched in its logarithm.

_ENDS = re.compile(r"interval\(([^()]*)\)")
_NUMBER = re.compile(r"[-+]?[\d_]*\.?\d[\d_]*(?:[eE][-+]?\d+)?")


def range_of(sweep: IntervalSweep, word: str) -> Range:
    """The range that a word gives.  Raises ConfigError for an empty range, or one that cannot be searched."""
    low, high = sweep.start, sweep.end
    whole = isinstance(low, int) and isinstance(high, int)
    if whole and (part := next((end for end in _ends(word) if float(end) % 1), None)):
        raise ConfigError(f"'{word}' has the end {part}; both ends must be whole numbers, as in int(interval(2,8)).")
    if low is None or high is None or not (isfinite(low) and isfinite(high)) or low >= high:
        raise ConfigError(f"'{word}' is no range; one has two finite numbers, the lower one first: interval(0,1).")
    if unknown := sorted(tag for tag in sweep.tags if tag != LOG):
        raise ConfigError(f"'{word}' has the tag {unknown[0]}; a range can have the tag {LOG}, and no other.")
    if LOG in sweep.tags and low <= 0:
        raise ConfigError(f"'{word}' begins at {low:g}, which has no logarithm; a range with {LOG} begins above 0.")
    return Range(low, high, LOG in sweep.tags, whole)


def _ends(word: str) -> list[str]:
    """The numbers as typed: Hydra drops their decimals if it makes whole numbers of them."""
    interval = _ENDS.search(word)
    return _NUMBER.findall(interval[1]) if interval else []
