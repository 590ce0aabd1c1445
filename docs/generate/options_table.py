"""What the pages of options have in common: addresses, tables, and an option in a line."""

from typing import Any

import yaml

from docs.generate.conf_files import CONF, OptionFile
from docs.generate.markdown import code, docstring, plain, table
from docs.generate.settings import Setting, shown
from plasticity_lab.component import load

FOLDER = "reference/options"
SETTINGS = ("setting", "type", "default", "range", "meaning")


def address(group: str) -> str:
    """The page of a group."""
    return f"{FOLDER}/{group.rpartition('/')[2]}.md"


def row(setting: Setting, here: str) -> list[str]:
    """A setting as a line of a table."""
    return [
        code(setting.name),
        setting.type,
        code(setting.default),
        plain(setting.range, here),
        plain(setting.meaning, here),
    ]


def keys(content: dict[str, Any], comments: dict[str, str], here: str, title: str) -> str:
    """A table of keys of a file that are no settings."""
    rows = [[code(key), code(shown(value)), plain(comments.get(key, ""), here)] for key, value in content.items()]
    return table((title, "value", "meaning"), rows)


def default_of(group: str) -> str:
    """The default of a group, in words."""
    chosen = yaml.safe_load((CONF / "config.yaml").read_text(encoding="utf-8"))["defaults"]
    found = next((each[group] for each in chosen if isinstance(each, dict) and group in each), None)
    return f"the default is `{found}`" if found else "by default none"


def summary(option: OptionFile, here: str) -> str:
    """The option in a line: what its file says of itself, or the first sentence of its class."""
    target = option.content.get("_target_")
    text = option.about or (docstring(load(target).__doc__, here).partition("\n\n")[0] if target else "")
    about = plain(text, here) if option.about else text
    first, dot, _ = about.partition(". ")
    return first + dot.strip() if len(first) > 15 else about
