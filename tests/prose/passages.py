"""All prose of the repository, cut into passages: docstrings and comments, messages, pages."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("plasticity_lab", "launch", "analysis")
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
COMMENTS, MESSAGES, DOCS = CORPORA = ("docstrings and comments", "messages", "docs")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK_OR_CODE = re.compile(r"\]\([^)]*\)|`[^`\n]*`")
_YAML_COMMENT = re.compile(r"(?:^|\s)#\s?(.*)$")
_WORDS_OF_A_MESSAGE = 4
"""A string of fewer words is a name, a key or a format, not a sentence."""


@dataclass(frozen=True)
class Passage:
    """Some lines of prose.  corpus: one of CORPORA.  path: from the root.  first: number of the first line."""

    corpus: str
    path: str
    first: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The passage on one line, with single spaces."""
        return " ".join(" ".join(self.lines).split())

    def line_at(self, position: int) -> int:
        """The index of the line on which a position of `text` is."""
        end = 0
        for index, line in enumerate(self.lines):
            words = line.split()
            end += len(" ".join(words)) + bool(words)
            if position < end:
                return index
        raise IndexError(position)


def passages(root: Path) -> Iterator[Passage]:
    """All passages of the repository at `root`: its packages, the comments of conf/, and its pages."""
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            yield from of_python(file.read_text(), file.relative_to(root).as_posix())
    for file in sorted((root / "conf").rglob("*.yaml")):
        yield from _of_yaml(file.read_text(), file.relative_to(root).as_posix())
    for file in [*(root / page for page in PAGES), *sorted((root / "docs").rglob("*.md"))]:
        yield from of_page(file.read_text(), file.relative_to(root).as_posix())


def of_python(source: str, path: str) -> Iterator[Passage]:
    """Passages of a module: docstrings and comments, and strings of at least four words as messages."""
    tree = ast.parse(source)
    docstrings: set[ast.Constant] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                if isinstance(statement, ast.Expr) and _is_text(statement.value):
                    docstrings.add(statement.value)
                    yield _passage(COMMENTS, path, statement.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Passage(COMMENTS, path, token.start[0], (token.string.lstrip("# "),))
    for node in _messages(tree):
        if node not in docstrings and len(_written(node).split()) >= _WORDS_OF_A_MESSAGE:
            yield _passage(MESSAGES, path, node)


def of_page(text: str, path: str) -> Iterator[Passage]:
    """Paragraphs of a Markdown page, without fenced code, code in line and addresses of links."""
    text = _FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text)
    lines = [_LINK_OR_CODE.sub(" ", line) for line in text.splitlines()]
    first = 0
    for number, line in enumerate([*lines, ""]):
        if not line.strip():
            if number > first:
                yield Passage(DOCS, path, first + 1, tuple(lines[first:number]))
            first = number + 1


def _of_yaml(text: str, path: str) -> Iterator[Passage]:
    for number, line in enumerate(text.splitlines(), 1):
        if comment := _YAML_COMMENT.search(line):
            yield Passage(COMMENTS, path, number, (comment[1],))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _messages(node: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Strings and formatted strings; the pieces of a formatted one are not strings beside it."""
    if isinstance(node, ast.JoinedStr) or _is_text(node):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _messages(child)


def _written(node: ast.Constant | ast.JoinedStr) -> str:
    """The text of a string as it is written; what a formatted one puts in is left out."""
    if isinstance(node, ast.JoinedStr):
        return " ".join(part.value if _is_text(part) else "…" for part in node.values)
    return node.value


def _passage(corpus: str, path: str, node: ast.Constant | ast.JoinedStr) -> Passage:
    return Passage(corpus, path, node.lineno, tuple(_written(node).splitlines()))
