"""Texts of docstrings and comments as Markdown of a page of the site."""

import inspect
import os
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath

from docs.generate.definitions import split

PAGE = re.compile(r"docs/pages/([\w/]+\.md)")
CODE = re.compile(r"(`[^`]+`)")
SPECIAL = re.compile(r"([*_<\[\]\\])")


def plain(text: str, here: str) -> str:
    """A line or paragraph: signs of Markdown are shown as they are, `code` is code, and pages are links from `here`."""
    parts = CODE.split(text)
    return "".join(part if part.startswith("`") else _words(part, here) for part in parts)


def docstring(text: str | None, here: str, without: Collection[str] = ()) -> str:
    """A docstring's paragraphs.  without: names whose definitions are left out."""
    words = split(text, without)[0] if without else inspect.cleandoc(text or "")
    return "\n\n".join(" ".join(plain(each, here).split()) for each in re.split(r"\n{2,}", words.strip()) if each)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; its cells are Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)


def code(text: str) -> str:
    """Code in a line or a cell."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;")
    return f"<code>{escaped}</code>" if text else ""


def block(text: str, language: str) -> str:
    """A block of code."""
    return f"```{language}\n{text.strip()}\n```"


def _words(text: str, here: str) -> str:
    links = [
        f"[{PurePosixPath(path).stem}]({os.path.relpath(path, PurePosixPath(here).parent)})"
        for path in PAGE.findall(text)
    ]
    pieces = [SPECIAL.sub(r"\\\1", piece) for piece in PAGE.split(text)[::2]]
    return "".join(piece + link for piece, link in zip(pieces, [*links, ""], strict=True))
