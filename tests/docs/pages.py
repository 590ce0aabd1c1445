"""The pages for people (README.md, CONTRIBUTING.md, docs/) as tests read them: commands, links, code and names."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import plasticity_lab

ROOT = Path(plasticity_lab.__file__).parents[1]
PAGES_FOLDER = ROOT / "docs" / "pages"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHELLS = ("", "bash", "sh", "shell", "console", "zsh")
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
UNFINISHED = ("docs/pages/how_to/shell_completion.md",)
"""Pages whose lines show commands that are not finished; their blocks of shell are read as others'."""
IDEAS = "$HOME/ideas"
"""Where the recipes' files lie in what they show."""


@dataclass(frozen=True)
class Command:
    """A command as a page shows it.  module: after `python -m`; None for make.  words: what follows."""

    page: str
    module: str | None
    words: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join([f"{self.page}:", self.module or "make", *self.words])


def named(page: Path) -> str:
    """A page as its address in the repository."""
    return page.relative_to(ROOT).as_posix()


def fences(text: str) -> Iterator[tuple[str, str]]:
    """The language and the content of each block of code."""
    return iter(FENCE.findall(text))


def files_of(page: Path) -> dict[str, str]:
    """The files that a page shows: the blocks of Python and YAML whose first line is the file's path."""
    shown = [content for language, content in fences(page.read_text()) if language in ("python", "yaml")]
    titled = {content.partition("\n")[0].removeprefix("# "): content for content in shown if content.startswith("# ")}
    return {path: content for path, content in titled.items() if path.endswith((".py", ".yaml"))}


def commands_of(page: Path) -> list[Command]:
    """Every `python -m …` and `make …` in a page's blocks of shell and in its lines."""
    text = page.read_text()
    lines = [line for language, block in fences(text) if language in SHELLS for line in joined(block)]
    if named(page) not in UNFINISHED:
        lines += [" ".join(span.split()) for span in spans(text)]
    return [found for line in lines for part in parts(line) if (found := command(named(page), part)) is not None]


def spans(text: str) -> list[str]:
    """The inline code of a page."""
    return SPAN.findall(FENCE.sub("", text))


def joined(block: str) -> list[str]:
    """The lines of a block, those that end with a backslash joined with the next."""
    return block.replace("\\\n", " ").splitlines()


def parts(line: str) -> list[list[str]]:
    """The words of each command of a line, comments left out.  What the shell could not read is no command."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    try:
        for word in lexer:
            if set(word) <= set(";&|"):
                found.append([])
            else:
                found[-1].append(word)
    except ValueError:
        return []
    return found


def command(page: str, words: list[str]) -> Command | None:
    """What the words call; None for what is neither `python -m` nor make."""
    while words and (words[0] == "$" or re.match(r"\w+=", words[0])):
        words = words[1:]
    if words[:1] == ["eval"] and len(words) > 1:
        words = words[1].removeprefix("$(").removesuffix(")").split()
    words = [word for word in words if word != "…"]
    if not words:
        return None
    name = words[0].removeprefix(".venv/bin/")
    if name == "python" and words[1:2] == ["-m"] and len(words) > 2:
        return Command(page, words[2], tuple(words[3:]))
    return Command(page, None, tuple(words[1:])) if name == "make" and len(words) > 1 else None
