"""The mark by which a job of Slurm's is known as a worker of a sweep; a job that does not bear it exactly is none.

A job bears it in two places. Its comment ends with the five words of `mark_of`, after the comment that the user has
asked for. And it runs, without arguments, a script in the folder of its submission, whose last name is the token.
"""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from plasticity_lab.records.store import Store

_MARK = re.compile(r"(?:.* )?plasticity_lab (\S+) (\S+) store (.+)", re.DOTALL)
LONGEST = 500
"""Signs of a path in a comment: Slurm refuses comments of more than 1,024, and the user's own is to have room."""
_SCRIPT = re.compile(r"\S+\.sh")


@dataclass(frozen=True)
class Mark:
    """What the end of a comment says.  store: the word for the store's path, or the path itself."""

    sweep: str
    token: str
    store: str

    def is_in(self, store: Store) -> bool:
        """Whether the job is one of this store, which may have been given by another path then."""
        if self.store == _word_for(store):
            return True
        path = unquote_to_bytes(self.store)
        return path.startswith(b"/") and is_same_folder(path, store.root)


def mark_of(store: Store, sweep: str, token: str) -> str:
    """The mark of a submission's jobs: five words."""
    return f"plasticity_lab {sweep} {token} store {_word_for(store)}"


def mark_in(comment: str) -> Mark | None:
    """The mark at the end of a comment; None where there is none."""
    found = _MARK.fullmatch(comment)
    return None if found is None else Mark(*found.groups())


def script_folder(command: str) -> Path | None:
    """The folder of the script that a job runs; None if it is no script, or is given arguments.

    command: as Slurm shows it, words joined by spaces.
    """
    folder, slash, name = command.rpartition("/")
    return Path(folder) if slash and _SCRIPT.fullmatch(name) else None


def _word_for(store: Store) -> str:
    """The store's path without spaces, quotes and line breaks, as in a URL; of a long one its SHA-256."""
    path = os.fsencode(store.root)
    word = quote(path)
    return word if len(word) <= LONGEST else f"sha256:{hashlib.sha256(path).hexdigest()}"


def is_same_folder(one: Path | bytes, other: Path) -> bool:
    """Whether two paths name one folder; where one of them cannot be looked at, whether they are written alike."""
    try:
        return os.path.samefile(os.fsencode(one), os.fsencode(other))
    except (OSError, ValueError):
        return os.fsencode(one) == os.fsencode(other)
