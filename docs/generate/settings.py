"""The settings of an option: type, default, range and meaning, from its class and its file in conf/."""

import ast
import dataclasses
import functools
import inspect
import re
import sys
import textwrap
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from docs.generate.conf_files import OptionFile, comments_of
from docs.generate.definitions import defined_by
from plasticity_lab.component import Component, as_typed, load, parameters

BOUNDS = {"at_least": "≥", "above": ">", "at_most": "≤", "below": "<"}
SAME = 0.55
"""A comment with this share of its words in the definition says nothing else."""
WORDS = {int: "integer", float: "number", str: "word", bool: "true or false", list: "list", type(None): "null"}
LISTING = re.compile(r"^[\w.]+(?: \| [\w.]+)+\b[:;,]?\s*")


@dataclass(frozen=True)
class Setting:
    """A line of an option's table; all are texts, "" for unknown."""

    name: str
    type: str
    default: str
    range: str
    meaning: str


def settings_of(option: OptionFile, others: list[OptionFile]) -> list[Setting]:
    """The settings of an option that names a class.  others: its group, with comments on settings of the same class."""
    target = option.content["_target_"]
    cls = load(target)
    hints = typing.get_type_hints(cls.__init__)
    ranges, defined, beside = ranges_of(cls), definitions_in(cls), fields_of(cls)
    elsewhere = [other.comments for other in others if other.content.get("_target_") == target]
    found = []
    for name, parameter in parameters(cls).items():
        value = option.content.get(name, parameter.default)
        note = option.comments.get(name) or ("" if name in defined or name in beside else _first(name, elsewhere))
        meaning = together(defined.get(name, ""), note or ("" if name in defined else beside.get(name, "")))
        default = "" if value is inspect.Parameter.empty else shown(value)
        found.append(Setting(name, kind_of(hints.get(name)), default, ranges.get(name, ""), meaning))
    return found


def shown(value: Any) -> str:
    """A value as typed on a command line."""
    return value if isinstance(value, str) else as_typed(value)


def together(definition: str, note: str) -> str:
    """A definition and the comment in the option's file, if that says anything else."""
    if not definition:
        return note
    note = LISTING.sub("", note)
    words, known = (set(re.findall(r"\w{3,}", text.lower())) for text in (note, definition))
    repeats = len(words & known) >= SAME * len(words)
    definition = definition.rstrip(". ")
    return definition if repeats else f"{definition}; {note}"


def kind_of(annotation: Any) -> str:
    """A type annotation in words."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return " or ".join(kind_of(each) for each in typing.get_args(annotation))
    plain = typing.get_origin(annotation) or annotation
    return WORDS.get(plain, getattr(plain, "__name__", ""))


@functools.cache
def ranges_of(cls: type[Component]) -> dict[str, str]:
    """Setting → its range in signs or words: from `setting(…)` of dataclasses and from calls of `check`."""
    found: dict[str, str] = {}
    for each in reversed(lineage(cls)):
        for call in ast.walk(tree_of(each)):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "check":
                name = _checked(call)
                limits = {key.arg: _value(key.value, each) for key in call.keywords if key.arg}
                if name and (text := in_words(limits)):
                    found[name] = text
    if dataclasses.is_dataclass(cls):
        for each in dataclasses.fields(cls):
            if text := in_words(each.metadata.get("limits", {})):
                found[each.name] = text
    return found


def in_words(limits: Mapping[str, Any]) -> str:
    """The arguments of `check` as a range."""
    if limits.get("one_of") is not None:
        return ", ".join(as_typed(each).strip("'") for each in limits["one_of"])
    signs = [f"{sign} {limits[name]}" for name, sign in BOUNDS.items() if limits.get(name) is not None]
    return ", ".join(signs)


@functools.cache
def definitions_in(cls: type[Component]) -> dict[str, str]:
    """Setting → its line `name: meaning` in the docstring of the class or of a base class."""
    found: dict[str, str] = {}
    for each in reversed(lineage(cls)) if parameters(cls) else ():
        found |= defined_by(each, parameters(cls))
    return found


@functools.cache
def fields_of(cls: type[Component]) -> dict[str, str]:
    """Setting → the comment beside or above its line in the class or a base class."""
    found: dict[str, str] = {}
    for each in reversed(lineage(cls)):
        lines = inspect.getsource(each).splitlines()
        start = next(at for at, line in enumerate(lines) if line.startswith("class "))
        body = textwrap.dedent("\n".join(line for line in lines[start + 1 :] if line.startswith("    ")))
        found |= {name: text for name, text in comments_of(body).items() if text}
    return found


def lineage(cls: type) -> list[type]:
    """The class and its base classes within the laboratory, without `Component`."""
    return [each for each in cls.__mro__ if each.__module__.startswith("plasticity_lab") and each is not Component]


@functools.cache
def tree_of(cls: type) -> ast.AST:
    """The syntax tree of a class."""
    return ast.parse(textwrap.dedent(inspect.getsource(cls)))


def _checked(call: ast.Call) -> str:
    """The setting that a call of `check` names; "" if it is not written out."""
    first = call.args[0] if call.args else None
    return first.value.partition(".")[2] if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def _value(expression: ast.expr, cls: type) -> Any:
    """The value of an expression in the module of a class; None if it depends on the instance."""
    try:
        return eval(compile(ast.Expression(expression), "<range>", "eval"), vars(sys.modules[cls.__module__]))
    except NameError:
        return None


def _first(name: str, comments: list[dict[str, str]]) -> str:
    return next((each[name] for each in comments if each.get(name)), "")
