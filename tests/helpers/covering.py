"""Covering arrays: a few rows of choices, in which every pair of choices of two groups occurs.

Some choices refuse each other. A pair then stands in a row that is allowed, or in a refused one if no allowed row with
it is found.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

Choice = tuple[str, str]
"""A group, and its choice."""
Pair = frozenset[Choice]
Row = Mapping[str, str]
"""Group → its choice."""
Refusal = tuple[str, frozenset[Choice]]
"""A sentence, and the choices of a row that do not go together."""
TRIES = 25
"""The most rows that are tried for one pair."""


def pairs_of(row: Row) -> Iterator[Pair]:
    """All pairs of a row."""
    return map(frozenset, combinations(row.items(), 2))


def array(
    choices: Mapping[str, Sequence[str]], refusal: Callable[[Row], Refusal | None], order: Callable[[Pair], Any] = len
) -> Iterator[tuple[Row, str]]:
    """The rows, each with the sentence that refuses it; "" for an allowed one.

    refusal: says whether a row is refused; it is asked about far fewer rows than there are. order: the key by which
        pairs are sorted; the first rows hold the first pairs.
    """
    search = _Search(choices, order)
    while search.missing:
        pair = next(iter(search.missing))
        row, why = search.tried(pair, refusal)
        yield row, why
        for each in [pair] if why else pairs_of(row):
            search.missing.pop(each, None)


class _Search:
    """missing: the pairs that no row has yet, in their order."""

    def __init__(self, choices: Mapping[str, Sequence[str]], order: Callable[[Pair], Any]) -> None:
        self._choices = choices
        self._conflicts = defaultdict[Choice, list[Pair]](list)
        self._refused: list[tuple[Row, str, frozenset[Choice]]] = []
        pairs = [
            frozenset({(one, a), (other, b)})
            for one, other in combinations(choices, 2)
            for a, b in product(choices[one], choices[other])
        ]
        self.missing: dict[Pair, None] = dict.fromkeys(sorted(pairs, key=order))

    def tried(self, pair: Pair, refusal: Callable[[Row], Refusal | None]) -> tuple[Row, str]:
        """The first allowed row with a pair, or a refused one.  Each refusal teaches a conflict."""
        for _ in range(TRIES):
            row = self._completed(dict(pair), list(self._choices))
            if row is None:
                break
            found = refusal(row)
            if found is None:
                return row, ""
            why, culprits = found
            self._refused.append((row, why, culprits))
            for culprit in culprits:
                self._conflicts[culprit].append(culprits)
        with_pair = [(row, why, culprits) for row, why, culprits in self._refused if pair <= row.items()]
        if with_pair:
            row, why, _ = max(with_pair, key=lambda refused: len(refused[2] & pair) / len(refused[2]))
            return row, why
        row = {group: choices[0] for group, choices in self._choices.items()} | dict(pair)
        found = refusal(row)
        assert found is not None, f"{row} is allowed, although all rows with {pair} seemed refused"
        return row, found[0]

    def _completed(self, row: dict[str, str], groups: Sequence[str]) -> Row | None:
        """A row with further choices, none of which is in a known conflict; of these, ones with many missing pairs."""
        if not groups:
            return row if not any(self._conflicting(row, choice) for choice in row.items()) else None
        group, *others = groups
        if group in row:
            return self._completed(row, others)
        new = {choice: sum(frozenset({(group, choice), each}) in self.missing for each in row.items())
               for choice in self._choices[group]}  # fmt: skip
        for choice in sorted(new, key=lambda choice: -new[choice]):
            longer = {**row, group: choice}
            if not self._conflicting(longer, (group, choice)):
                found = self._completed(longer, others)
                if found is not None:
                    return found
        return None

    def _conflicting(self, row: Row, choice: Choice) -> bool:
        return any(conflict <= row.items() for conflict in self._conflicts[choice])
