"""One word of a command line, read by Hydra's grammar, and hints about a word that cannot be read."""

import os
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, Quote, QuotedString
from hydra.errors import HydraException

from plasticity_lab.errors import ConfigError

SHOWN = 200
"""The most characters of a word that a message repeats."""
QUOTED = "quote the whole word, as in 'activation=glob(*)'"
PAIRS = (("(", ")"), ("[", "]"), ("{", "}"))
TYPOGRAPHIC = set("“”„«»‘’‚")
MEANINGS = set(",()[]{}'\"\\$")
"""Signs with a meaning in Hydra's grammar; a value without them can be put in quotes unchanged."""
NAME = re.compile(r"[+~]*[A-Za-z_]\w*([./@-]\w+)*", re.ASCII)
"""A key of Hydra's grammar."""
ANOTHER_KEY = re.compile(r"\s[\w.+~/]+=")
TOO_LONG = re.compile(r"\d{4000}")


def read(word: str) -> Override:
    """One word, parsed.  Raises ConfigError if it is not key=value.

    If a value has signs that the grammar takes only in quotes (`store=ü`, `store=~/runs`), the quotes are added.
    """
    hidden = next((sign for sign in word.strip() if unicodedata.category(sign) == "Cc"), None)
    if hidden is not None:
        raise ConfigError(f"'{shown(word)}' holds a line break or another control character; a word is one line.")
    try:
        return _parsed(word.strip())
    except (HydraException, ValueError, RecursionError) as error:
        quoted = _in_quotes(word)
        if quoted is None:
            raise ConfigError(f"'{shown(word)}' {why(word)}.") from error
        return _parsed(quoted)


def shown(word: str) -> str:
    """A word as a message repeats it: on one line, and not all of a very long one."""
    line = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in word)
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"


def plain(value: Any) -> Any:
    """A parsed value without the parser's own types."""
    if isinstance(value, QuotedString):
        return value.text
    if isinstance(value, list):
        return [plain(element) for element in value]
    if isinstance(value, dict):
        return {plain(key): plain(element) for key, element in value.items()}
    return value


def spelled(value: Any) -> str:
    """A value as Hydra's grammar reads it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return QuotedString(value, Quote.single).with_quotes()
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{spelled(element)}" for key, element in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(spelled, value)) + "]"
    return repr(value)


def why(word: str) -> str:
    """The mistake in a word and the right form, as the rest of a sentence that begins with the word."""
    if word.startswith(("–", "—")):
        return "begins with a long dash; flags are written with - or --"
    if TYPOGRAPHIC & set(word):
        return "has typographic quotes, which no shell takes away; write ' or \""
    if not word.strip():
        return "is an empty word (is a shell variable in quotes empty?); leave it out"
    if "=" not in word:
        if os.path.exists(word):
            return f"is the name of a file here, as when the shell puts names in the place of *; {QUOTED}"
        return f"is no key=value, as in seed=0, without blanks around the ={_in_plain_letters(word)}"
    if ANOTHER_KEY.search(word.strip()):
        return "holds several settings; give each as a separate word"
    return _wrong_key(*word.split("=", 1)) or _wrong_value(*word.split("=", 1))


def _wrong_key(key: str, value: str) -> str | None:
    if key != key.rstrip():
        return "has a blank before the =; write it as in seed=0"
    if NAME.fullmatch(key.lstrip()):
        return None
    if not key.lstrip("+~ "):
        return "names no setting before the =; a setting is written as in seed=0"
    if not key.isascii():
        return f"has a key with other letters than a-z{_in_plain_letters(f'{key}={value}')}"
    return f"begins with '{shown(key)}', which cannot be the name of a setting; one is written as in optimizer.lr=0.1"


def _wrong_value(key: str, value: str) -> str:
    if TOO_LONG.search(value):
        return "has a number of thousands of digits"
    if any(value.count(left) != value.count(right) for left, right in PAIRS):
        return f"has a bracket without its other half, as when the shell takes a word apart at a blank or a *; {QUOTED}"
    if value.count("[") + value.count("{") + value.count("(") > 50:
        return "has too many brackets in one another"
    if any(value.count(quote) % 2 for quote in "'\""):
        return "has a quote without its other half; a value in quotes is written key='value', the whole in double ones"
    if re.search(r"\brange\(", value):
        return "has a range that cannot be read; one is range(5), range(0,5) or range(0,5,2), with numbers alone"
    if re.search(r"^,|,\s*,|,$", value.strip()):
        comma = "ends with a comma" if value.rstrip().endswith(",") else "has a comma with no value before it"
        return f"{comma}; several values are written without blanks, as in seed=0,1"
    if value.startswith("="):
        return "has two = in a row; one is enough, as in seed=0"
    if invisible := [sign for sign in value if not sign.isprintable()]:
        name = unicodedata.name(invisible[0], "without a name").lower()
        return f"has an invisible sign, U+{ord(invisible[0]):04X} ({name}); type the word again"
    if unreadable := dict.fromkeys(sign for sign in value if not sign.isascii()):
        signs = shown(" ".join(unreadable))
        return f"has signs that are read only in quotes ({signs}): write \"{shown(key)}='{shown(value)}'\""
    several = "several values are written seed=0,1"
    return f"cannot be read as key=value; {several}, and if a value has brackets, blanks or quotes, {QUOTED}"


def _parsed(word: str) -> Override:
    return OverridesParser.create().parse_overrides([word])[0]


def _in_quotes(word: str) -> str | None:
    """The word with its value in quotes; None if it still could not be read."""
    key, _, value = word.strip().partition("=")
    if not NAME.fullmatch(key) or not value or value.startswith("=") or ANOTHER_KEY.search(word.strip()):
        return None
    if (MEANINGS | TYPOGRAPHIC) & set(value) or not value.isprintable() or TOO_LONG.search(value):
        return None
    return f"{key}={spelled(value.strip())}"


def _in_plain_letters(word: str) -> str:
    """The end of a sentence: the probable meaning of a word with full-width letters or signs."""
    plain = unicodedata.normalize("NFKC", word)
    return f" (did you mean {shown(plain)}?)" if plain != word and plain.isascii() and "=" in plain else ""
