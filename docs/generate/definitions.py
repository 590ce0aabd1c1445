"""The lines `name: meaning` of docstrings, and the text around them."""

import inspect
import re
from collections.abc import Collection
from typing import Any

NEXT_SUBJECT = re.compile(r"\s(?:All else|Source|State): ")


def defined_by(documented: Any, names: Collection[str] = ()) -> dict[str, str]:
    """Name → meaning, from a docstring.  names: the known ones; without them each word before a colon is a name."""
    return split(documented.__doc__, names)[1]


def split(text: str | None, names: Collection[str] = ()) -> tuple[str, dict[str, str]]:
    """A docstring's paragraphs without its definitions, and these."""
    name = "|".join(map(re.escape, names)) or r"\w+"
    opens = re.compile(rf"(?:^|\n\s*|(?<=[.;)] ))((?:`?(?:{name})`?, )*`?(?:{name})`?):\s")
    rest, found = [], dict[str, str]()
    for paragraph in re.split(r"\n{2,}", inspect.cleandoc(text or "")):
        starts = [match for match in opens.finditer(paragraph) if not match[1].startswith("Source")]
        ends = [match.start() for match in starts[1:]] + [len(paragraph)]
        kept = [paragraph[: starts[0].start()] if starts else paragraph]
        for match, end in zip(starts, ends, strict=False):
            meaning, other = _meaning(paragraph[match.end() : end])
            found.update(dict.fromkeys(re.sub("`", "", match[1]).split(", "), meaning))
            kept.append(other)
        rest.append(" ".join(" ".join(each.split()) for each in kept if each.strip()))
    return "\n\n".join(filter(None, rest)), found


def _meaning(body: str) -> tuple[str, str]:
    """A definition, and the words after it.  Indented lines belong to it; in a plain paragraph it is one sentence."""
    first, *others = body.rstrip().split("\n")
    indented = next((at for at, line in enumerate(others) if not line.startswith(" ")), len(others))
    if others and not indented:
        text = " ".join([first, *others])
        end = re.search(r"\.\s+(?=[A-Z])", text)
        meaning, other = (text[: end.start()], text[end.end() :]) if end else (text, "")
    else:
        meaning, other = " ".join([first, *others[:indented]]), " ".join(others[indented:])
    if further := NEXT_SUBJECT.search(meaning):
        meaning, other = meaning[: further.start()], f"{meaning[further.start() :]} {other}"
    return " ".join(meaning.split()), other
