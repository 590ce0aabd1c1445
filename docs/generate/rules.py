"""The pages of groups whose options name no class, and of the settings that belong to no group."""

import dataclasses
import typing
from pathlib import Path
from typing import Any

import yaml

from docs.generate.conf_files import CONF, comments_of, option_files
from docs.generate.definitions import defined_by
from docs.generate.markdown import block, plain, table
from docs.generate.models import keys_of
from docs.generate.options_table import FOLDER, SETTINGS, address, default_of, keys, row, summary
from docs.generate.settings import Setting, kind_of, shown
from launch.launchers.slurm.parameters import PackedSlurmConf
from launch.runs.groups import RULES as MODELS
from launch.runs.settings import Numbers
from plasticity_lab.records.settings import LaunchSettings, Settings, TrackingSettings

RULES = {
    "hyperparams": "Where learning rates and shape parameters come from.",
    "protocol": "Values that a whole study has, put in wherever an option has the setting.",
    "schedule": "Caps on lengths: the full benchmark, or a part of it.",
    "tracking": "Where runs are shown while they train.",
    "hydra/launcher": "Where runs are trained: without one of these, on this machine.",
    "experiment": "Presets: the words of a command in a file.",
}
KEYS = {**MODELS, "tracking": TrackingSettings}


def pages() -> dict[str, str]:
    """Address below docs/pages → Markdown."""
    return {f"{FOLDER}/settings.md": _of_commands(), **{address(group): _rule(group) for group in RULES}}


def _rule(group: str) -> str:
    options, here = option_files(group), address(group)
    name = group.rpartition("/")[2]
    parts = [f"# Options of {name}\n\n{RULES[group]} Chosen as `{group}=OPTION`; {default_of(group)}."]
    if group in KEYS:
        comments = {key: text for option in options for key, text in option.comments.items()}
        found = keys_of(KEYS[group], comments if group == "tracking" else None)
        parts += ["Keys of its files:", table(("key", *SETTINGS[1:]), [row(each, here) for each in found])]
    if group == "hydra/launcher":
        parts += ["Keys of its files, in a command `hydra.launcher.KEY=value`; those without a meaning are submitit's:"]
        parts += [table(("key", *SETTINGS[1:]), [row(each, here) for each in _of_slurm()])]
    rows = [[f"[{option.name}](#{option.name})", summary(option, here)] for option in options]
    parts.append(table(("option", "in a line"), rows))
    for option in options:
        parts += [f"## {option.name} {{#{option.name}}}", block(option.command, "bash"), plain(option.about, here)]
        if group == "experiment":
            parts.append(block(_body(CONF / group / f"{option.name}.yaml"), "yaml"))
        elif option.content:
            parts.append(keys(option.content, option.comments, here, "key"))
    return "\n\n".join(filter(None, parts)) + "\n"


def _of_slurm() -> list[Setting]:
    """The parameters of jobs on Slurm."""
    fields, hints = dataclasses.fields(PackedSlurmConf), typing.get_type_hints(PackedSlurmConf)
    ours = defined_by(PackedSlurmConf, [each.name for each in fields])
    found = []
    for each in fields:
        factory = each.default_factory
        value = factory() if factory is not dataclasses.MISSING else each.default
        if not each.name.startswith("_"):
            found.append(Setting(each.name, kind_of(hints[each.name]), shown(value), "", ours.get(each.name, "")))
    return found


def _of_commands() -> str:
    """The keys of conf/config.yaml that are in no group, with types from the models that check them."""
    text, here = (CONF / "config.yaml").read_text(encoding="utf-8"), f"{FOLDER}/settings.md"
    content = yaml.safe_load(text)
    comments = comments_of("\n".join(line for line in text.splitlines() if not line.startswith("#")))
    section = text.partition("\nlaunch:\n")[2].partition("\n\n")[0]
    launch = comments_of("\n".join(line[2:] for line in section.splitlines()))
    known = {each.name: each for model in (Numbers, Settings) for each in keys_of(model)}
    known |= {f"launch.{each.name}": each for each in keys_of(LaunchSettings)}
    values = {key: value for key, value in content.items() if not isinstance(value, dict | list)}
    values |= {f"launch.{key}": value for key, value in content["launch"].items()}
    rows = []
    for key, value in values.items():
        meaning = launch[key.removeprefix("launch.")] if key.startswith("launch.") else comments.get(key, "")
        rows.append(row(_set(known[key], key, value, meaning), here))
    title = "# Settings of every command\n\nGiven as `key=value`. From `conf/config.yaml`."
    return f"{title}\n\n{table(SETTINGS, rows)}\n"


def _set(setting: Setting, name: str, value: Any, meaning: str) -> Setting:
    return Setting(name, setting.type, shown(value), setting.range, meaning or setting.meaning)


def _body(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(lines[next(at for at, line in enumerate(lines) if not line.startswith("#")) :])
