"""Sources of presets, setting by setting: the tables of tests/conf/sources, which tests compare with conf/."""

import csv
from collections import defaultdict
from pathlib import PurePosixPath

from docs.generate.conf_files import CONF

FOLDER = CONF.parent / "tests/conf/sources"
GROUPS = ("agent", "benchmark")
"""The groups whose options have such lines; experiments show their files."""


def of_settings(group: str, option: str) -> dict[str, str]:
    """Setting → its place in the source, and the difference if there is one; of other groups nothing."""
    found = defaultdict(list)
    for line in _table(group) if group in GROUPS else ():
        if line["preset"] == option:
            found[line["key"]].append(_in_words(line))
    return {key: "; ".join(dict.fromkeys(texts)) for key, texts in found.items()}


def without(group: str, option: str) -> str:
    """The reason why a preset has no source; "" if it has one."""
    reasons = {line["preset"]: line["reason"] for line in _table("without_source")}
    return reasons.get(f"{group}/{option}", "")


def places(group: str, option: str) -> list[str]:
    """The repositories and papers that an option's settings come from."""
    used = {line["source"] for line in _table(group) if group in GROUPS and line["preset"] == option}
    return [
        f"{line['source']}: {line['whose']}, {line['repository']} {line['revision'][:17]}".replace(",  ", ", ")
        for line in _table("sources")
        if line["source"] in used
    ]


def _in_words(line: dict[str, str]) -> str:
    if line["relation"] == "ours":
        return f"ours: {line['note']}"
    place = " ".join(filter(None, [line["source"], PurePosixPath(line["file"]).name, line["name"]]))
    if line["relation"] == "equal":
        return place
    return f"{place}: {line['theirs']}" + (f" ({line['note']})" if line["note"] else "")


def _table(name: str) -> list[dict[str, str]]:
    path = FOLDER / f"{name}.csv"
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
