"""The pages of the options: each group of conf/ with its options, and each option with its settings."""

from pathlib import Path
from typing import Any

import yaml

from docs.generate.conf_files import CONF, OptionFile, comments_of, option_files
from docs.generate.markdown import block, code, docstring, plain, table
from docs.generate.settings import settings_of, shown
from plasticity_lab.component import load

FOLDER = "reference/options"
RULES = {
    "hyperparams": "Where learning rates and shape parameters come from.",
    "protocol": "Values that a whole study has, put in wherever an option has the setting.",
    "schedule": "Caps on lengths: the full benchmark, or a part of it.",
    "tracking": "Where runs are shown while they train.",
    "hydra/launcher": "Where runs are trained: without one of these, on this machine.",
    "experiment": "Presets: the words of a command in a file.",
}
ABOUT = {
    "activation": "activations.md",
    "assay": "assays.md",
    "benchmark": "benchmarks.md",
    "diagnostics": "diagnostics.md",
    "head": "networks.md",
    "intervention": "interventions.md",
    "network": "networks.md",
    "optimizer": "optimizers.md",
    "target": "agents/value.md",
}
"""Group → the page about it, below reference/."""
SETTINGS = ("setting", "type", "default", "range", "meaning")


def pages() -> dict[str, str]:
    """Address below docs/pages → Markdown, for all groups, the settings of commands, and an overview."""
    declared = yaml.safe_load((CONF / "groups.yaml").read_text(encoding="utf-8"))
    texts = {group: _group(group, facts) for group, facts in declared.items()} | {
        group: _rule(group) for group in RULES
    }
    found = {address(group): text for group, text in texts.items()}
    return {
        f"{FOLDER}/index.md": _overview([*declared, *RULES]),
        f"{FOLDER}/settings.md": _commands_settings(),
        **found,
    }


def address(group: str) -> str:
    """The page of a group."""
    return f"{FOLDER}/{group.rpartition('/')[2]}.md"


def _overview(groups: list[str]) -> str:
    rows = []
    for group in groups:
        options = [option.name for option in option_files(group)]
        names = ", ".join(options) if len(options) < 50 else f"{len(options)} presets"
        rows.append([f"[{group}]({address(group).rpartition('/')[2]})", plain(names, FOLDER)])
    return (
        "# Options\n\nEach group of `conf/`, with its options. These pages are made from the files of `conf/` and the "
        "classes that they name. "
        "`python -m plasticity_lab.main --help` prints the groups too.\n\n"
        "The [settings of every command](settings.md), such as `seed` and `store`, belong to no group.\n\n"
        f"{table(('group', 'options'), rows)}\n"
    )


def _group(group: str, facts: dict[str, Any]) -> str:
    options, here = option_files(group), address(group)
    lines = [f"# Options of {group}\n\nChosen as `{group}=OPTION`; {_default(group)}."]
    if facts.get("several"):
        lines.append(f"Several together: `'{group}=[one,other]'`.")
    if facts.get("science") is False:
        lines.append("The group changes no number of a run: it is no part of the run id, and cannot be swept.")
    if "auto" in facts:
        lines.append(f"`auto` is the option that the benchmark's file names as `{facts['auto']}`.")
    lines.append(f"Base class: `{facts['base']}`.")
    if group in ABOUT:
        lines.append(f"[About this group](../{ABOUT[group]}).")
    summaries = [[f"[{option.name}](#{option.name})", _summary(option, here)] for option in options]
    parts = [
        " ".join(lines),
        table(("option", "in a line"), summaries),
        *(_option(option, options, here) for option in options),
    ]
    return "\n\n".join(parts) + "\n"


def _option(option: OptionFile, others: list[OptionFile], here: str) -> str:
    parts = [f"## {option.name} {{#{option.name}}}", block(option.command, "bash"), plain(option.about, here)]
    target = option.content.get("_target_")
    settings = settings_of(option, others) if target else []
    if target:
        names = [each.name for each in settings]
        parts += [docstring(load(target).__doc__, here, names), f"Class: `{target}`."]
    if settings:
        rows = [
            [code(each.name), each.type, code(each.default), plain(each.range, here), plain(each.meaning, here)]
            for each in settings
        ]
        parts.append(table(SETTINGS, rows))
    known = {"_target_", *(each.name for each in settings)}
    others_in_file = {key: value for key, value in option.content.items() if key not in known}
    if others_in_file:
        parts.append(_keys(others_in_file, option.comments, here, "other keys of the file" if target else "key"))
    return "\n\n".join(filter(None, parts))


def _rule(group: str) -> str:
    options, here = option_files(group), address(group)
    parts = [
        f"# Options of {group.rpartition('/')[2]}\n\n{RULES[group]} Chosen as `{group}=OPTION`; {_default(group)}."
    ]
    parts.append(
        table(("option", "in a line"), [[f"[{each.name}](#{each.name})", _summary(each, here)] for each in options])
    )
    for option in options:
        parts += [f"## {option.name} {{#{option.name}}}", block(option.command, "bash"), plain(option.about, here)]
        if group == "experiment":
            parts.append(block(_body(CONF / group / f"{option.name}.yaml"), "yaml"))
        elif option.content:
            parts.append(_keys(option.content, option.comments, here, "key"))
    return "\n\n".join(filter(None, parts)) + "\n"


def _keys(content: dict[str, Any], comments: dict[str, str], here: str, title: str) -> str:
    rows = [[code(key), code(shown(value)), plain(comments.get(key, ""), here)] for key, value in content.items()]
    return table((title, "value", "meaning"), rows)


def _commands_settings() -> str:
    """The keys of conf/config.yaml that are in no group."""
    text = (CONF / "config.yaml").read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    without_headings = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    comments, here = comments_of(without_headings), f"{FOLDER}/settings.md"
    rows = [
        [code(key), code(shown(value)), plain(comments.get(key, ""), here)]
        for key, value in content.items()
        if _is_setting(value, key)
    ]
    inner = comments_of(
        "\n".join(line[2:] for line in text.partition("\nlaunch:\n")[2].partition("\n\n")[0].splitlines())
    )
    rows += [
        [code(f"launch.{key}"), code(shown(value)), plain(inner[key], here)] for key, value in content["launch"].items()
    ]
    title = "# Settings of every command\n\nGiven as `key=value`. From `conf/config.yaml`."
    return f"{title}\n\n{table(('setting', 'default', 'meaning'), rows)}\n"


def _is_setting(value: Any, key: str) -> bool:
    return not isinstance(value, dict | list) and key != "defaults"


def _default(group: str) -> str:
    chosen = yaml.safe_load((CONF / "config.yaml").read_text(encoding="utf-8"))["defaults"]
    found = next((each[group] for each in chosen if isinstance(each, dict) and group in each), None)
    return f"the default is `{found}`" if found else "by default none"


def _summary(option: OptionFile, here: str) -> str:
    """The option in a line: what its file says of itself, or the first sentence of its class."""
    target = option.content.get("_target_")
    text = option.about or (docstring(load(target).__doc__, here).partition("\n\n")[0] if target else "")
    about = plain(text, here) if option.about else text
    first, dot, _ = about.partition(". ")
    return first + dot.strip() if len(first) > 15 else about


def _body(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(lines[next(at for at, line in enumerate(lines) if not line.startswith("#")) :])
