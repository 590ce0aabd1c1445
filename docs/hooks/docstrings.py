"""For mkdocstrings: our docstrings as Markdown. Formulas are no markup, and lines `name: meaning` are a list."""

import re

import griffe

DEFINITION = re.compile(r"^[\w, `*]{1,60}: ")
CODE = re.compile(r"(`[^`]+`)")


class PlainDocstrings(griffe.Extension):
    """Rewrites each docstring when its object has been read."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        """Called for each object with its docstring."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Paragraphs stay, `name: meaning` begins a line of a list, indented examples stay as they are."""
    lines: list[str] = []
    listed = False
    for line in text.splitlines():
        if line.startswith("    ") and not listed:
            lines.append(line)
            continue
        words = "".join(
            part if part.startswith("`") else re.sub(r"([*_<\[\\])", r"\\\1", part) for part in CODE.split(line)
        )
        if DEFINITION.match(line):
            lines += [*([] if listed else [""]), f"- {words}"]
            listed = True
        else:
            listed = listed and line.startswith(" ")
            lines.append(("  " if listed else "") + words.strip())
    return "\n".join(lines)
