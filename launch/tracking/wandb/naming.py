"""The name and the notes of a run in W&B.

A name is `leaky_relu negative_slope=0.3 lr=0.001 · permuted_digits · seed 3`. It is written without knowledge of the
other runs of its sweep, so it names everything that may differ among them. It always names the searched numbers
(settings of the activation, the learning rate, the strength of an intervention) and the game. Every other choice and
setting is named unless it is the default of conf/.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from analysis.report.run_command import command
from analysis.rows import rows
from launch.runs.classes import defaults_of
from launch.runs.groups import AUTO
from plasticity_lab.run import JOINED

CONF = Path(__file__).resolve().parents[3] / "conf"
LONGEST = 128
"""W&B refuses longer names."""
GAME = (("benchmark", "game"), ("benchmark", "bodies"))
"""The settings of a benchmark that name its game or bodies; a single one is named even if it is the default."""
Choice = Mapping[str, Any]
"""A group in the science of a run: the name of the option, and its settings."""


def run_name(run: Mapping[str, Any]) -> str:
    """The name of a run (run, science), the same whether it is written live or from its record.

    If W&B would refuse it, settings are left out, the last ones first, then options. Such a name has the number of
    missing words, and ends with the run id.
    """
    science = run["science"]
    groups: dict[str, Choice] = {key: value for key, value in science.items() if isinstance(value, Mapping)}
    settings = {group: _settings(group, choice, groups) for group, choice in groups.items()}
    others = sorted(groups.keys() - {"activation", "benchmark"})
    rate = [key for key in groups["optimizer"] if key == "lr"]
    parts = [
        [groups["activation"]["name"], *settings["activation"], *_words(groups["optimizer"], rate)],
        [groups["benchmark"]["name"], *settings["benchmark"]],
        *(
            [groups[group]["name"], *settings[group]]
            for group in others
            if settings[group] or not _usual(group, groups)
        ),
    ]
    seed = " ".join([f"seed {science['seed']}", *_words(science, _unusual_numbers(science))])
    usual = [[groups[group]["name"]] for group in others if _usual(group, groups)]
    name, left_out = _joined(parts, seed), 0
    while len(name) > LONGEST and any(parts):
        with_settings = [part for part in parts if len(part) > 1]
        last = (with_settings or [part for part in parts if part])[-1]
        last.pop()
        left_out += 1
        if last in usual:
            last.clear()
        name = _joined(parts, f"{left_out} more · {seed} · {run['run']}")
    return name


def notes(run: Mapping[str, Any]) -> str:
    """The command that trains the run alone.  run: with run, science and asked_as."""
    (row, *_) = rows([{**run, "status": "waiting"}])
    return f"`{command(row)}`"


def _joined(parts: Iterable[Sequence[str]], end: str) -> str:
    return " · ".join([*(" ".join(part) for part in parts if part), end])


def _settings(group: str, choice: Choice, groups: Mapping[str, Choice]) -> list[str]:
    """The named settings of a group, as `c=5`, without the learning rate.

    If a group has several options, the option precedes each setting: `redo.every=5`.
    """
    members = choice["name"].split(JOINED)
    if len(members) > 1:
        own = {each: {"name": each, **choice[each]} for each in members}
        return [f"{each}.{word}" for each, its in own.items() for word in _settings(group, its, groups)]
    # For an option outside conf/ this is empty, and all settings are named.
    file = _contents(f"{group}/{choice['name']}.yaml")
    default = {**(defaults_of(file["_target_"]) if file else {}), **file}
    for other, chosen in groups.items():
        of_other = _contents(f"{other}/{chosen['name']}.yaml").get("default_settings", {})
        default |= of_other.get(group, {}).get(choice["name"], {})

    def is_named(setting: str, value: Any) -> bool:
        if setting == "name" or (group, setting) == ("optimizer", "lr"):
            return False
        is_shape = group == "activation" and isinstance(value, float)
        searched = is_shape or (group, setting) == ("intervention", "strength")
        is_game = (group, setting) in GAME and (not isinstance(value, list | tuple) or len(value) == 1)
        return searched or is_game or setting not in default or default[setting] != value

    game_first = sorted(choice, key=lambda setting: (group, setting) not in GAME)
    return _words(choice, [setting for setting in game_first if is_named(setting, choice[setting])])


def _usual(group: str, groups: Mapping[str, Choice]) -> bool:
    """Whether the choice is the default in config.yaml or, if that is `auto`, the benchmark's default."""
    chosen: dict[str, Any] = {}
    for entry in _contents("config.yaml")["defaults"]:
        chosen |= entry if isinstance(entry, Mapping) else {}
    if chosen.get(group) == "auto" and group in AUTO:
        chosen[group] = _contents(f"benchmark/{groups['benchmark']['name']}.yaml").get(AUTO[group])
    return groups[group]["name"] == chosen.get(group)


def _unusual_numbers(science: Mapping[str, Any]) -> list[str]:
    """The keys of stream seed, init seed and precision that are not the default of config.yaml."""
    default = _contents("config.yaml")
    return [key for key in ("stream_seed", "init_seed", "precision") if science.get(key) != default[key]]


def _words(settings: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """The settings as a command would say them: `c=5`, `half=true`, `steps=null`."""
    return [f"{name}={_text(settings[name])}" for name in names]


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_text, value))}]"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


@cache
def _contents(file: str) -> Mapping[str, Any]:
    """The content of a file of conf/; empty if there is no such file."""
    path = CONF / file
    content: Any = OmegaConf.to_container(OmegaConf.load(path)) if path.is_file() else {}
    return content
