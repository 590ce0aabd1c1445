"""For mkdocstrings: our docstrings as Markdown. Formulas are no markup, and lines `name: meaning` are a list."""

import re

import griffe

DEFINITION = re.compile(r"^`?[*\\\w]+`?(?:, `?[*\\\w]+`?)*:(?:\s|$)")
CODE = re.compile(r"(`[^`]+`)")
FURTHER = re.compile(r"(?<=[.;)])[ \n](?=`?[a-z][\\\w]*`?(?:, `?[a-z][\\\w]*`?)*:\s)")
"""A further definition in a line: names begin small, sentences do not."""
COLUMNS = re.compile(r"\S {3,}\S")


class PlainDocstrings(griffe.Extension):
    """Rewrites each docstring when its object has been read."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        """Called for each object with its docstring."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """A docstring, paragraph by paragraph."""
    return "\n\n".join(map(_paragraph, re.split(r"\n{2,}", text)))


def _paragraph(text: str) -> str:
    """Examples and words in columns stay as they are; each `name: meaning` is a point of a list."""
    lines = text.splitlines()
    if sum(bool(COLUMNS.search(line)) for line in lines) > 1:
        return "```text\n" + text.replace("`", "") + "\n```"
    if lines and lines[0].startswith("    "):
        return text
    found, listed = [], False
    for line in FURTHER.sub("\n", _escaped(text)).splitlines():
        if DEFINITION.match(line):
            found += [*([] if listed else [""]), f"- {line}"]
            listed = True
        else:
            ends = listed and not line.startswith(" ") and found[-1].endswith(".")
            listed = listed and not ends
            found += [*([""] if ends else []), ("    " if listed else "") + line.strip()]
    return "\n".join(found)


def _escaped(text: str) -> str:
    """The text with signs of Markdown as they are, except for code."""
    return "".join(part if part.startswith("`") else re.sub(r"([*_<\[\\])", r"\\\1", part) for part in CODE.split(text))
