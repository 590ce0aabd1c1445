"""Which code a process runs: a plan keeps by which it was made, and a worker says so where it runs another.

Python reads a module when it is first needed. Who edits a clone, or checks out another commit, while a sweep waits in a
queue gives some of its runs other code than the rest.
"""

import functools
import hashlib
from collections.abc import Mapping

from plasticity_lab.records.provenance import CHECKOUT, git, provenance

_FOLDERS = ("plasticity_lab", "launch", "conf")
"""Where changes can change a run."""


@functools.cache
def code_here() -> dict[str, str | None]:
    """`commit`, and under `changes` a hash of what differs from it in files that count, null where nothing does.

    commit is null, and so is changes, where the package runs from no git checkout, or git is missing.
    """
    commit = provenance()["commit"]
    if commit is None:
        return {"commit": None, "changes": None}
    new = git("ls-files", "--others", "--exclude-standard", "--", *_FOLDERS) or ""
    parts = [git("diff", "HEAD", "--binary", "--", *_FOLDERS) or ""]
    parts += [f"{path} {_hash_of_file(path)}" for path in new.splitlines()]
    return {"commit": commit, "changes": _hash("\n".join(parts).encode()) if any(parts) else None}


def other_code(planned: Mapping[str, str | None], sweep: str) -> str | None:
    """A sentence that says that a sweep was planned by other code than runs here; None where it was not, or who knows.

    planned: as `code_here` had it then.
    """
    here = code_here()
    if planned.get("commit") is None or here["commit"] is None or dict(planned) == here:
        return None
    return (
        f"Sweep {sweep} was planned by {_in_words(planned)}, and this worker runs {_in_words(here)}: its runs may come "
        "from different code. Each record names the commit that made it; to train with one code only, cancel the sweep "
        "and give its command again once its jobs have ended."
    )


def _in_words(code: Mapping[str, str | None]) -> str:
    changes = code.get("changes")
    return f"commit {str(code['commit'])[:12]}{f' with changes ({changes})' if changes else ''}"


def _hash_of_file(path: str) -> str:
    try:
        return _hash((CHECKOUT / path).read_bytes())
    except OSError:
        return "cannot be read"


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
