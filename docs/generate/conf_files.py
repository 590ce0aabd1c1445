"""The files of conf/ with their comments, which no YAML reader keeps: what a file says of itself and of each key."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

CONF = Path(__file__).parents[2] / "conf"
KEY = re.compile(r"([A-Za-z_]\w*):(?:\s|$)")
COMMENT = re.compile(r"(?:^|\s)#\s?(.*)$")


@dataclass(frozen=True)
class OptionFile:
    """One option.  command: its first line. about: the comment below it. comments: key → the comment at it."""

    group: str
    name: str
    command: str
    about: str
    content: dict[str, Any]
    comments: dict[str, str]


def option_files(group: str) -> list[OptionFile]:
    """The options of a group, sorted by name."""
    return [_read(group, path) for path in sorted((CONF / group).glob("*.yaml"))]


def comments_of(text: str) -> dict[str, str]:
    """Key → the comment on its line, on lines of its own above it, and on the lines of its value."""
    found: dict[str, list[str]] = {}
    above: list[str] = []
    key = ""
    for line in text.splitlines():
        comment = _comment(line)
        if not line.strip():
            above = []
        elif line.startswith("#"):
            above.append(comment)
        elif opens := KEY.match(line):
            key = opens[1]
            found[key], above = [*above, comment], []
        elif not line.startswith(" "):
            key, above = "", []
        elif key:
            found[key].append(comment)
    return {key: " ".join(filter(None, parts)) for key, parts in found.items()}


def _read(group: str, path: Path) -> OptionFile:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    head = next((at for at, line in enumerate(lines) if not line.startswith("#")), len(lines))
    command, *about = [line.removeprefix("#").strip() for line in lines[:head]] or [""]
    content: Any = OmegaConf.to_container(OmegaConf.create(text)) if head < len(lines) else {}
    return OptionFile(group, path.stem, command, " ".join(about), content, comments_of("\n".join(lines[head:])))


def _comment(line: str) -> str:
    """The comment of a line; a # within quotes begins none."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", lambda quoted: "_" * len(quoted[0]), line)
    found = COMMENT.search(bare)
    return line[found.start(1) :].strip() if found else ""
