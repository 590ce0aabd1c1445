"""The references of options: keys of BibTeX entries, or the reason why an option has none."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from plasticity_lab.run import JOINED

FOLDER = Path(__file__).parent
ENTRY = re.compile(r"^@\w+\{([\w-]+),.*?^\}$", re.MULTILINE | re.DOTALL)
Options = Iterable[tuple[str, str]]
"""(group, name of an option)."""


@cache
def entries() -> Mapping[str, str]:
    """Key → BibTeX entry, in the order of references.bib."""
    text = (FOLDER / "references.bib").read_text(encoding="utf-8")
    return {found.group(1): found.group(0) for found in ENTRY.finditer(text)}


@cache
def of_options() -> Mapping[str, Mapping[str, list[str] | str]]:
    """Group → option → keys of its references, or a sentence that says why it has none."""
    return json.loads((FOLDER / "options.json").read_text(encoding="utf-8"))


def cited(options: Options) -> tuple[dict[str, list[str]], list[str]]:
    """Key → the options that it is for, as words `group=option`; and a sentence for each option without a reference."""
    by_key: dict[str, list[str]] = {}
    without = []
    for group, name in sorted(set(_single(options))):
        found = of_options().get(group, {}).get(name, "is not among the options of this version")
        if isinstance(found, str):
            without.append(f"{group}={name}: {found}")
        for key in [] if isinstance(found, str) else found:
            by_key.setdefault(key, []).append(f"{group}={name}")
    return {key: by_key[key] for key in entries() if key in by_key}, without


def _single(options: Options) -> Iterable[tuple[str, str]]:
    """Options one by one: several of a group are joined in a record."""
    return ((group, each) for group, name in options for each in name.split(JOINED))
