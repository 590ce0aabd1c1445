"""The options of this version and their settings, read from the files of conf/."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parents[1] / "conf"
OPTIMIZER = "adam"
"""The optimizer of a command that names none (conf/config.yaml)."""


class _Loader(yaml.SafeLoader):
    """A YAML loader that reads 1e-8 as a number, as OmegaConf does; YAML 1.1 requires a decimal point there."""


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?\d+[eE][-+]?\d+$"), [*"-+0123456789"])


def has(group: str, name: str) -> bool:
    """Whether this version has that option of a group, as in `has("benchmark", "cifar51")`."""
    return (FOLDER / group / f"{name}.yaml").is_file()


@cache
def option(group: str, name: str) -> Mapping[str, Any]:
    """The content of an option's file; empty if this version lacks the option."""
    return _read(f"{group}/{name}.yaml") if has(group, name) else MappingProxyType({})


@cache
def groups() -> Mapping[str, Mapping[str, Any]]:
    """The groups of a run's options, in the order of conf/groups.yaml."""
    return _read("groups.yaml")


@cache
def as_published(benchmark: str) -> Mapping[str, Any]:
    """The published settings of a benchmark, and of its network, optimizer and agent.

    They are the `study` of a run: dotted keys, without the learning rate, which belongs to the activation. They come
    from the options' files, because protocol=as_published sets nothing itself. Empty if conf/ lacks the benchmark.
    """
    settings = option("benchmark", benchmark)
    if not settings:
        return MappingProxyType({})
    chosen = {"network": settings["default_network"], "optimizer": OPTIMIZER, "agent": settings["default_agent"]}
    expected: dict[str, Any] = {"precision": "fp32"}
    for group, name in {"benchmark": benchmark, **chosen}.items():
        for key, value in option(group, name).items():
            if not key.startswith(("_", "default_")) and key not in ("stand_in", "lr"):
                expected[f"{group}.{key}"] = value
        if group != "benchmark":
            expected[f"{group}.name"] = name
    return MappingProxyType(expected)


def _read(file: str) -> Mapping[str, Any]:
    content = yaml.load((FOLDER / file).read_text(encoding="utf-8"), _Loader)
    return MappingProxyType(content or {})
