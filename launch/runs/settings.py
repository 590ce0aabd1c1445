"""The keys that belong to no component: a run's numbers, and the settings for computing runs."""

import os
import shlex
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from plasticity_lab.errors import ConfigError
from plasticity_lab.process.account import expanded
from plasticity_lab.records.settings import Settings, Strict, checked
from plasticity_lab.records.store import Store

STORE = "PLASTICITY_STORE"
TEXTS = ("store", "data", "tracking.project", "tracking.entity")
"""The keys with a text as value: `store=12` is a folder named 12."""


class Numbers(Strict):
    """The numbers of a run in addition to its components; these are science, and can be swept."""

    seed: int = Field(ge=0)
    stream_seed: int | None = Field(ge=0)
    init_seed: int | None = Field(ge=0)
    precision: Literal["fp32"]


def settings(values: Mapping[str, Any]) -> Settings:
    """The settings of one command, folders made absolute.  store null: $PLASTICITY_STORE, or ./store if it is not set.

    Raises ConfigError for a value out of range.
    """
    store = values["store"] if values["store"] is not None else os.environ.get(STORE) or "store"
    for key, folder in (("store", store), ("data", values["data"])):
        if isinstance(folder, str) and not folder.strip():
            raise ConfigError(f"{key} is an empty word; it must be the name of a folder, or null for the usual one.")
    command = checked(Settings, {**values, "store": store})
    data = command.data and expanded(command.data).absolute()
    return command.model_copy(update={"store": expanded(command.store).absolute(), "data": data})


def keys(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested keys by their dotted names: {"launch": {"workers": 2}} → {"launch.workers": 2}."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= keys(value, f"{prefix}{key}.") if isinstance(value, Mapping) and value else {f"{prefix}{key}": value}
    return flat


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of `keys`: {"launch.workers": 2} → {"launch": {"workers": 2}}."""
    values: dict[str, Any] = {}
    for key, value in flat.items():
        *folders, name = key.split(".")
        place = values
        for folder in folders:
            place = place.setdefault(folder, {})
        place[name] = value
    return values


def store_option(store: Store) -> str:
    """The option that names a store in a command to be copied; empty for the default store."""
    usual = Store(os.environ.get(STORE) or "store").root
    return "" if store.root == usual else f" --store {shlex.quote(str(store.root))}"
