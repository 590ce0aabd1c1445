"""What a run is called in W&B's lists: `leaky_relu negative_slope=0.3 lr=0.001 · permuted_digits · seed 3`.

A run is written without knowing the other runs of its sweep, so its name says all that may differ among them. Always
named are the numbers that one searches: those of the activation, the learning rate, and an intervention's strength.
Every other choice and setting is named where it is not the default of conf/.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from plasticity_lab.run import JOINED

CONF = Path(__file__).resolve().parents[3] / "conf"
LONGEST = 128
"""W&B refuses longer names."""

Choice = Mapping[str, Any]
"""What a run's science says of a group: the name of the option, and its settings."""


def run_name(run: Mapping[str, Any]) -> str:
    """The name of a run (run, science), the same whether it is written live or from its record.

    A name that W&B would refuse is cut, and ends with the run id.
    """
    science = run["science"]
    groups: dict[str, Choice] = {key: value for key, value in science.items() if isinstance(value, Mapping)}
    benchmark, seed = groups["benchmark"]["name"], f"seed {science['seed']}"
    settings = {group: _settings(group, choice) for group, choice in groups.items()}
    others = sorted(groups.keys() - {"activation", "benchmark"})
    rate = [key for key in groups["optimizer"] if key == "lr"]
    parts = [
        [groups["activation"]["name"], *settings["activation"], *_words(groups["optimizer"], rate)],
        [benchmark, *settings["benchmark"]],
        *(
            [groups[group]["name"], *settings[group]]
            for group in others
            if settings[group] or not _usual(group, groups)
        ),
        [seed, *_words(science, _unusual_numbers(science))],
    ]
    name = " · ".join(" ".join(part) for part in parts)
    end = f"… · {seed} · {run['run']}"
    return name if len(name) <= LONGEST else name[: LONGEST - len(end)] + end


def _settings(group: str, choice: Choice) -> list[str]:
    """The settings of a group that are named, as `c=5`; without the learning rate, which stands elsewhere.

    Of several options each setting has its option's name before it: `redo.every=5`.
    """
    members = choice["name"].split(JOINED)
    if len(members) > 1:
        return [f"{each}.{word}" for each in members for word in _settings(group, {"name": each, **choice[each]})]
    default = _contents(f"{group}/{choice['name']}.yaml")  # of an option that is not in conf/, all settings are named

    def is_named(setting: str, value: Any) -> bool:
        if setting == "name" or (group, setting) == ("optimizer", "lr"):
            return False
        searched = (
            isinstance(value, float) if group == "activation" else (group, setting) == ("intervention", "strength")
        )
        return searched or setting not in default or default[setting] != value

    return _words(choice, [setting for setting, value in choice.items() if is_named(setting, value)])


def _usual(group: str, groups: Mapping[str, Choice]) -> bool:
    """Whether the choice is the default of config.yaml or, where that is `auto`, the benchmark's."""
    chosen: dict[str, Any] = {}
    for entry in _contents("config.yaml")["defaults"]:
        chosen |= entry if isinstance(entry, Mapping) else {}
    if chosen.get(group) == "auto":
        chosen[group] = _contents(f"benchmark/{groups['benchmark']['name']}.yaml").get(f"default_{group}")
    return groups[group]["name"] == chosen.get(group)


def _unusual_numbers(science: Mapping[str, Any]) -> list[str]:
    """The seeds set apart and the precision, where they are not the default of config.yaml."""
    default = _contents("config.yaml")
    return [key for key in ("stream_seed", "init_seed", "precision") if science.get(key) != default[key]]


def _words(settings: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """The settings as a command would say them: `c=5`, `half=true`, `steps=null`."""
    return [f"{name}={_text(settings[name])}" for name in names]


def _text(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


@cache
def _contents(file: str) -> Mapping[str, Any]:
    """What stands in a file of conf/; nothing where there is none."""
    path = CONF / file
    found: Any = OmegaConf.to_container(OmegaConf.load(path)) if path.is_file() else {}
    return found
