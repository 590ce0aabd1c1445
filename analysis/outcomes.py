"""Why a run has no value of something: what became of it, said alike by every command."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from analysis.rows import Row

Why = Literal["diverged", "failed", "stopped", "waiting", "no_episode", "no_value"]
"""It diverged, failed, was stopped early by a search or has not finished; or it is done and no episode ended in it, or
there is no number for another reason, as where a mean is not finite."""
Ended = tuple[str, Mapping[str, Any]]
"""The status of a run and its summary."""


def why_without(status: str, summary: Mapping[str, Any], name: str) -> Why | None:
    """Why a run has no value of that name; None where it has one."""
    if status != "done":
        return status if status in ("diverged", "failed", "stopped") else "waiting"
    if summary.get(name) is not None:
        return None
    return "no_episode" if summary.get("episodes") == 0 else "no_value"


def some_tasks(summary: Mapping[str, Any]) -> tuple[int, int] | None:
    """In how many of how many tasks of a run an episode ended, over which its means are taken; None where in all, in
    none, or where its record does not say.
    """
    having, tasks = summary.get("tasks_with_episodes"), summary.get("tasks")
    return (having, tasks) if having is not None and tasks is not None and 0 < having < tasks else None


def ended(rows: Iterable["Row"]) -> list[Ended]:
    """What became of the runs of some rows, each once."""
    return [(row.status, row.summary) for row in {row.run: row for row in rows}.values()]


def why_none(runs: Iterable[Ended], name: str) -> str:
    """Of runs of which some, or all, have no value: why, as "2 of 4 runs diverged; no episode ended in 2 of 4 runs"."""
    found = [why_without(status, summary, name) for status, summary in runs]
    counts: Counter[Why] = Counter(why for why in found if why is not None)
    return in_words(counts, len(found))


def in_words(counts: Mapping[Why, int], of: int) -> str:
    """How many of a number of runs are such, in words."""
    runs = "run" if of == 1 else "runs"
    said: dict[Why, str] = {
        "diverged": f"{{}} of {of} {runs} diverged",
        "failed": f"{{}} of {of} {runs} failed",
        "stopped": f"{{}} of {of} {runs} stopped early",
        "no_episode": f"no episode ended in {{}} of {of} {runs}",
        "no_value": f"{{}} of {of} {runs} finished without a value",
        "waiting": f"{{}} of {of} {runs} not finished",
    }
    return "; ".join(words.format(counts[why]) for why, words in said.items() if counts.get(why))


def over_tasks(several: Iterable[tuple[int, int]]) -> str:
    """Over how many tasks means are: "4 of 8", or "4 to 6 of 8" where that is not the same for all."""
    having, tasks = (sorted(set(each)) for each in zip(*several, strict=True))
    return " of ".join(f"{each[0]} to {each[-1]}" if len(each) > 1 else f"{each[0]}" for each in (having, tasks))
