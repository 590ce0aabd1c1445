"""What may have happened to a word of the command line that is no key=value, most often in the shell."""

import re
from pathlib import Path

QUOTED = "quote the whole word, as in 'activation=glob(*)'"
PAIRS = (("(", ")"), ("[", "]"), ("{", "}"))
TYPOGRAPHIC = set("“”„«»‘’‚")
ANOTHER_KEY = re.compile(r"\s[\w.+~/]+=")


def why(word: str) -> str:
    """What is wrong with the word and what to write, as the rest of a sentence that begins with it."""
    if word.startswith(("–", "—")):
        return "begins with a long dash; flags are written with - or --"
    if TYPOGRAPHIC & set(word):
        return "has typographic quotes, which no shell takes away; write ' or \""
    if "=" not in word:
        if Path(word).exists():
            return f"is the name of a file here, as when the shell puts names in the place of *; {QUOTED}"
        return "is no key=value, as in seed=0, without blanks around the ="
    if ANOTHER_KEY.search(word):
        return "holds several settings; give each as a word of its own"
    if any(word.count(left) != word.count(right) for left, right in PAIRS):
        return f"has a bracket without its other half, as when the shell takes a word apart at a blank or a *; {QUOTED}"
    if word.endswith(","):
        return "ends with a comma; several values are written without blanks, as in seed=0,1"
    return (
        f"cannot be read as key=value; several values are written seed=0,1, and if a value has brackets, blanks or "
        f"quotes, {QUOTED}"
    )
