"""A table that is broken into blocks: names may be folded, numbers never."""

import io

import pytest
from rich.console import Console

from analysis.tables.listing import Listing
from analysis.tables.render import terminal, text


def listing(name, number):
    cells = [[name, *[f"{number}{place}" for place in range(6)]]]
    header = ["arm", *(f"h{place}" for place in range(6))]
    return Listing("wide", "Wide", header, cells, [], blocks=[range(1, 4), range(4, 7)])


@pytest.mark.parametrize("name", ["short", "a name of some words", "one_word_that_is_longer_than_it_should_be"])
def test_blocks_are_below_each_other_with_the_name_before_each(name):
    shown = text([listing(name, "1234567890" * 2)])
    assert max(map(len, shown.splitlines())) <= 100
    assert all(f"{'1234567890' * 2}{place}" in shown for place in range(6))
    folded = "".join(shown.split())
    assert shown.count(name[:12]) == 2
    assert "…" not in folded


def test_numbers_that_are_too_wide_are_not_cut():
    shown = text([listing("a_name_that_can_be_folded", "1234567890" * 5)])
    assert all(f"{'1234567890' * 5}{place}" in shown for place in range(6))


def test_a_table_that_fits_is_whole():
    file = io.StringIO()
    terminal([listing("short", "1234567890" * 2)], Console(file=file, width=200, force_terminal=True))
    assert sum("short" in line for line in file.getvalue().splitlines()) == 1
