"""The tables of tests/conf/sources: what the published source of each preset says of its settings.

agent.csv, benchmark.csv and experiment.csv have a line for each setting of a preset and each place in its source.

preset: the file in conf/.
where: the arms of an experiment that the line is about, as in "agent=der"; empty: all.
key: the setting, as its file has it; a setting of another choice (`default_settings`) as in "optimizer.adam.lr".
ours: its value in conf/; several values of a sweep are separated by "|".
theirs: the value as the source writes it.
relation: equal (the same value); notation (the same meaning, explained by `note`); differs (a stated difference, with
    its reason in `note`); ours (the source has no such setting: see `note`).
source: a line of sources.csv, which has repository and revision. file, name: the place in the source.
kind: gin | config (another file of settings) | python (a default of its Python) | code (what its Python does) | paper.

without_source.csv lists the presets without a published source, each with its reason.
"""

import csv
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from launch.runs.options import CONF

FOLDER = Path(__file__).parents[1] / "conf" / "sources"
GROUPS = ("agent", "benchmark", "experiment")
NO_SETTING = ("_target_", "default_settings", "default_grid", "stand_in")
"""Keys of a file that are no settings of its own."""
WITHOUT_EFFECT = {"transition_steps": 0, "transition": "interpolate", "augment": "none", "crop_margin": 4}
"""Settings of ours at values that change nothing: no source has them."""
Line = dict[str, str]


@cache
def table(name: str) -> list[Line]:
    """The lines of a table of the folder."""
    with (FOLDER / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def presets() -> list[str]:
    """Every file of the three groups, as in "agent/dqn"."""
    return [f"{group}/{path.stem}" for group in GROUPS for path in sorted((CONF / group).glob("*.yaml"))]


def lines_of(preset: str) -> list[Line]:
    """The lines of one preset."""
    group, name = preset.split("/")
    return [line for line in table(group) if line["preset"] == name]


def value(text: str) -> Any:
    """A number, true, false or None, however it is written; else the words in small letters, without quotes."""
    words = {"true": True, "false": False, "null": None, "none": None}
    plain = text.replace("'", "").replace('"', "").strip().lower()
    if plain in words:
        return words[plain]
    try:
        return float(plain.replace("_", "").replace(",", ""))
    except ValueError:
        return " ".join(plain.split())


def values(text: str) -> set[Any]:
    """The values that a line states, or that a word of a sweep names."""
    return {value(each) for each in text.split("|")}


def settings(preset: str) -> dict[str, Any]:
    """The settings of an agent or a benchmark as its file has them, and those of other choices beside it."""
    content = yaml.safe_load((CONF / f"{preset}.yaml").read_text())
    own = {key: each for key, each in content.items() if key not in NO_SETTING and WITHOUT_EFFECT.get(key, ...) != each}
    return own | dict(_leaves(content.get("default_settings", {})))


def setting(preset: str, key: str) -> Any:
    """One of `settings`; of another choice that the preset leaves alone, the value in that choice's own file."""
    found = settings(preset)
    if key in found or key.count(".") != 2:
        return found[key]
    group, choice, name = key.split(".")
    return yaml.safe_load((CONF / group / f"{choice}.yaml").read_text())[name]


def arms(name: str) -> list[dict[str, set[Any]]]:
    """The arms of an experiment: setting → the values that it names there. Of seeds the number alone."""
    params, of_arms = _words(name)
    return [{key: _swept(key, each) for key, each in (params | arm).items()} for arm in of_arms]


def _words(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The words of an experiment, and those of its arms, as its file and the files that it is built on have them."""
    content = yaml.safe_load((CONF / "experiment" / f"{name}.yaml").read_text())
    sweeper = content.get("hydra", {}).get("sweeper", {})
    params: dict[str, Any] = {}
    of_arms: list[dict[str, Any]] = [{}]
    for entry in content.get("defaults", []):
        if isinstance(entry, dict):
            params |= {key.removeprefix("override /"): each for key, each in entry.items() if key[:8] == "override"}
        elif entry != "_self_":
            more, of_arms = _words(entry)
            params |= more
    return params | sweeper.get("params", {}), sweeper.get("arms", of_arms)


def matches(arm: Mapping[str, set[Any]], where: str) -> bool:
    """Whether all values of an arm are those of `where`."""
    key, _, wanted = where.partition("=")
    return not where or arm.get(key, {"flatten"} if key == "head" else set()) == {
        value(each) for each in wanted.split(",")
    }


def _swept(key: str, word: Any) -> set[Any]:
    text = str(word)
    if key == "seed":
        first, last = text.removeprefix("range(").removesuffix(")").split(",")
        return {float(int(last) - int(first))}
    return {value(text)} if text.startswith("[") else {value(each) for each in text.split(",")}


def _leaves(content: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, each in content.items():
        if isinstance(each, Mapping):
            yield from _leaves(each, f"{above}{key}.")
        else:
            yield f"{above}{key}", each
