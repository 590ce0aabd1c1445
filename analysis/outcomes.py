"""The reason for a run's missing value: its outcome, in the same words in every command."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from analysis.rows import Row

Why = Literal["diverged", "failed", "stopped", "waiting", "no_episode", "no_value"]
"""The reason for a missing value: the run diverged, failed, was stopped early by a search, or has not finished.

"no_episode": it is done, and no episode ended in it. "no_value": it is done, and has no number for another reason, for
example because a mean is not finite.
"""
Ended = tuple[str, Mapping[str, Any]]
"""A run's status and summary."""


def why_without(status: str, summary: Mapping[str, Any], name: str) -> Why | None:
    """The reason for a run's missing value of that name; None if it has the value."""
    if status != "done":
        return status if status in ("diverged", "failed", "stopped") else "waiting"
    if summary.get(name) is not None:
        return None
    return "no_episode" if summary.get("episodes") == 0 else "no_value"


def some_tasks(summary: Mapping[str, Any]) -> tuple[int, int] | None:
    """The number of tasks with an ended episode, and the number of all tasks; the run's means are over the first.

    None if the two are equal, the first is 0, or the record lacks them.
    """
    having, tasks = summary.get("tasks_with_episodes"), summary.get("tasks")
    return (having, tasks) if having is not None and tasks is not None and 0 < having < tasks else None


def ended(rows: Iterable["Row"]) -> list[Ended]:
    """The outcomes of the rows' runs, each run once."""
    return [(row.status, row.summary) for row in {row.run: row for row in rows}.values()]


def why_none(runs: Iterable[Ended], name: str) -> str:
    """The reasons for missing values among these runs: "2 of 4 runs diverged; no episode ended in 2 of 4 runs"."""
    reasons: list[Why | None] = [why_without(status, summary, name) for status, summary in runs]
    counts: Counter[Why] = Counter(why for why in reasons if why is not None)
    return in_words(counts, len(reasons))


def in_words(counts: Mapping[Why, int], of: int) -> str:
    """The counts of outcomes among a number of runs, in words."""
    runs = "run" if of == 1 else "runs"
    sentences: dict[Why, str] = {
        "diverged": f"{{}} of {of} {runs} diverged",
        "failed": f"{{}} of {of} {runs} failed",
        "stopped": f"{{}} of {of} {runs} stopped early",
        "no_episode": f"no episode ended in {{}} of {of} {runs}",
        "no_value": f"{{}} of {of} {runs} finished without a value",
        "waiting": f"{{}} of {of} {runs} not finished",
    }
    return "; ".join(words.format(counts[why]) for why, words in sentences.items() if counts.get(why))


def over_tasks(several: Iterable[tuple[int, int]]) -> str:
    """The number of tasks that the means are over: "4 of 8", or "4 to 6 of 8" if it differs between the means."""
    ranges = []
    for numbers in zip(*several, strict=True):
        low, high = min(numbers), max(numbers)
        ranges.append(f"{low} to {high}" if low < high else f"{low}")
    return " of ".join(ranges)
