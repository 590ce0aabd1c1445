"""The pages of the options: each group of conf/ with its options, and each option with its settings."""

import re
from typing import Any

import yaml

from docs.generate import rules, sources
from docs.generate.conf_files import CONF, OptionFile, option_files
from docs.generate.definitions import defined_by
from docs.generate.markdown import block, docstring, plain, table
from docs.generate.options_table import FOLDER, SETTINGS, address, default_of, keys, row, summary
from docs.generate.settings import Setting, settings_of
from launch.runs.groups import AUTO, EXTRAS, Extras
from plasticity_lab.component import load

LINK = re.compile(r"(\[[^\]]*\]\([^)]*\))")
BREAK = re.compile(r"(?<=\w)(\.(?=\w)|\\_(?=\w)|[a-z](?=[A-Z]))")
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


def pages() -> dict[str, str]:
    """Address below docs/pages → Markdown, for all groups, the settings of commands, and an overview."""
    declared = yaml.safe_load((CONF / "groups.yaml").read_text(encoding="utf-8"))
    texts = {address(group): _group(group, facts) for group, facts in declared.items()}
    return {f"{FOLDER}/index.md": _overview([*declared, *rules.RULES]), **texts, **rules.pages()}


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
    lines = [f"# Options of {group}\n\nChosen as `{group}=OPTION`; {default_of(group)}."]
    if facts.get("several"):
        lines.append(f"Several together: `'{group}=[one,other]'`.")
    if facts.get("science") is False:
        lines.append("The group changes no number of a run: it is no part of the run id, and cannot be swept.")
    if "auto" in facts:
        lines.append(f"`auto` is the option that the benchmark's file names as `{facts['auto']}`.")
    lines.append(f"Base class: `{facts['base']}`.")
    if group in ABOUT:
        lines.append(f"[About this group](../{ABOUT[group]}).")
    summaries = [[f"[{option.name}](#{option.name})", summary(option, here)] for option in options]
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
        parts.append(_settings(option, settings, here))
    if places := sources.places(option.group, option.name):
        parts.append("Sources: " + "; ".join(plain(each, here) for each in places) + ".")
    if reason := sources.without(option.group, option.name):
        parts.append(f"Without a published source: {plain(reason, here)}.")
    known = {"_target_", *(each.name for each in settings)}
    others_in_file = {key: value for key, value in option.content.items() if key not in known}
    if others_in_file:
        comments = {**_of_extras(option.group), **{key: text for key, text in option.comments.items() if text}}
        parts.append(keys(others_in_file, comments, here, "other keys of the file" if target else "key"))
    return "\n\n".join(filter(None, parts))


def _settings(option: OptionFile, settings: list[Setting], here: str) -> str:
    """The table of an option's settings; with their sources, if its group has them."""
    cited = sources.of_settings(option.group, option.name)
    rows = [
        row(each, here) + ([_breaking(plain(cited.get(each.name, ""), here))] if cited else []) for each in settings
    ]
    return table((*SETTINGS, "source") if cited else SETTINGS, rows)


def _breaking(text: str) -> str:
    """Long names may be broken behind a dot or an underscore, and before a capital letter; links stay as they are."""
    parts = LINK.split(text)
    return "".join(part if part.startswith("[") else BREAK.sub(r"\1<wbr>", part) for part in parts)


def _of_extras(group: str) -> dict[str, str]:
    """The meanings of a group's keys that are no settings."""
    meant = {key: f"what `{name}=auto` means with it" for name, key in AUTO.items()} if group == "benchmark" else {}
    inherited = [kind for kind in EXTRAS[group].__mro__ if kind is not Extras] if group in EXTRAS else []
    for kind in reversed(inherited):
        meant |= defined_by(kind, list(EXTRAS[group].model_fields))
    return meant
