"""The table of all pairs of arms."""

from analysis.compare.comparison import LEVEL, Compared
from analysis.compare.listing import (
    about,
    better_words,
    difference_words,
    measure_of,
    name_of,
    pair_line,
    test_words,
    title_of,
)
from analysis.compare.pair import Pair
from analysis.tables.listing import NOTHING, Listing, signed

HEADER = ("pair", "difference [95 %]", "Welch p", "paired p", "Holm p", "g [95 %]", "P(better)")


def pairs_table(compared: Compared) -> Listing:
    """A pair a row: the first arm less the second, and how often a run of the first is the better."""
    return Listing(
        name=name_of(compared.by),
        title=f"{title_of(compared)}: all pairs",
        header=HEADER,
        body=[_fields(compared, pair) for pair in compared.pairs],
        lines=[
            {**about(compared), "kind": "pair", "arm": pair.ours, "against": pair.theirs, **pair_line(pair)}
            for pair in compared.pairs
        ],
        right=frozenset({2, 3, 4, 6}),
        bold=frozenset(
            (line, 4) for line, pair in enumerate(compared.pairs) if pair.holm is not None and pair.holm < LEVEL
        ),
        blocks=(range(1, 5), range(5, 7)),
    )


def _fields(compared: Compared, pair: Pair) -> list[str]:
    effect = pair.effect
    g = NOTHING if effect.g is None else signed(effect.g, 2)
    if effect.low is not None and effect.high is not None:
        g = f"{g} [{signed(effect.low, 2)}, {signed(effect.high, 2)}]"
    return [
        f"{pair.ours} − {pair.theirs}",
        difference_words(pair, measure_of(compared)),
        *test_words(pair),
        g,
        better_words(pair),
    ]
