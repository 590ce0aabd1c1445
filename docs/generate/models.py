"""Keys that are fields of a pydantic model: those of rules such as hyperparams, and the settings of every command."""

import types
import typing
from collections.abc import Mapping
from typing import Any

from docs.generate.definitions import defined_by
from docs.generate.settings import Setting, in_words, kind_of, shown
from plasticity_lab.records.settings import Strict

LIMITS = {"ge": "at_least", "gt": "above", "le": "at_most", "lt": "below"}


def keys_of(model: type[Strict], comments: Mapping[str, str] | None = None) -> list[Setting]:
    """The fields of a model.  comments: name → meaning, instead of the docstring's."""
    meanings = {**defined_by(model, list(model.model_fields)), **{k: v for k, v in (comments or {}).items() if v}}
    found = []
    for name, field in model.model_fields.items():
        words = ", ".join(map(shown, _words(field.annotation)))
        limits = {LIMITS[key]: getattr(each, key) for each in field.metadata for key in LIMITS if hasattr(each, key)}
        signs = in_words(limits)
        default = "" if field.is_required() else shown(field.get_default(call_default_factory=True))
        meaning = meanings.get(name, "").rstrip(". ")
        found.append(Setting(name, _kind(field.annotation), default, words or signs, meaning))
    return found


def _kind(annotation: Any) -> str:
    """A type in words, without the limits in it."""
    if typing.get_origin(annotation) is typing.Literal:
        return "word"
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return " or ".join(map(_kind, typing.get_args(annotation)))
    if typing.get_origin(annotation) is typing.Annotated:
        return _kind(typing.get_args(annotation)[0])
    return {"dict": "mapping", "Path": "folder"}.get(kind := kind_of(annotation), kind)


def _words(annotation: Any) -> list[Any]:
    """The values of a Literal, also within a union."""
    if typing.get_origin(annotation) is typing.Literal:
        return list(typing.get_args(annotation))
    return [word for each in typing.get_args(annotation) for word in _words(each)]
