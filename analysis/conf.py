"""The files of conf/, read as files: which options this version has, and their settings."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parents[1] / "conf"
OPTIMIZER = "adam"
"""What a command trains with where it says nothing (conf/config.yaml)."""


def has(group: str, name: str) -> bool:
    """Whether this version has that option of a group, as in `has("benchmark", "cifar51")`."""
    return (FOLDER / group / f"{name}.yaml").is_file()


@cache
def option(group: str, name: str) -> Mapping[str, Any]:
    """What an option's file holds; nothing where this version has none."""
    if not has(group, name):
        return MappingProxyType({})
    content = yaml.safe_load((FOLDER / group / f"{name}.yaml").read_text(encoding="utf-8"))
    return MappingProxyType(_typed(content or {}))


@cache
def groups() -> Mapping[str, Mapping[str, Any]]:
    """The groups that a run is made of, as conf/groups.yaml declares them, in their order."""
    return MappingProxyType(yaml.safe_load((FOLDER / "groups.yaml").read_text(encoding="utf-8")))


@cache
def as_published(benchmark: str) -> Mapping[str, Any]:
    """The settings with which a benchmark is run as published, its network's, optimizer's and agent's among them.

    They are a run's `study`: dotted keys, without the learning rate, which belongs to the activation.
    protocol=as_published sets nothing of its own, so they stand in the options' files. Nothing of a benchmark that
    conf/ does not have.
    """
    own = option("benchmark", benchmark)
    if not own:
        return MappingProxyType({})
    chosen = {"network": own["default_network"], "optimizer": OPTIMIZER, "agent": own["default_agent"]}
    expected: dict[str, Any] = {"precision": "fp32"}
    for group, name in {"benchmark": benchmark, **chosen}.items():
        settings = {key: value for key, value in option(group, name).items() if not key.startswith(("_", "default_"))}
        expected |= {f"{group}.{key}": value for key, value in settings.items() if key not in ("stand_in", "lr")}
        if group != "benchmark":
            expected[f"{group}.name"] = name
    return MappingProxyType(expected)


def _typed(value: Any) -> Any:
    """1e-8 as the number that OmegaConf takes it for: YAML 1.1 has no number without a point there."""
    if isinstance(value, dict):
        return {key: _typed(of) for key, of in value.items()}
    if isinstance(value, list):
        return [_typed(of) for of in value]
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value
