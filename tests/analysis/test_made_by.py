"""Runs that were not made alike are averaged only where the caption says so."""

import pytest

from analysis.rows import rows
from analysis.tables.build import build
from analysis.tables.caption import caption
from analysis.tables.declared.means import TABLE2
from analysis.tables.render import csv_text

MADE = {"commit": "e57c382f9aab2bd8", "dirty": False, "device": "cpu", "mode": "eager", "versions": {"torch": "2.13.0"}}


def captioned(records):
    (result,) = build(TABLE2, rows(records))
    return result, "\n".join(caption(result.table, result))


def test_the_caption_says_by_which_code_and_on_what(seeds):
    _, said = captioned(seeds("relu", [0.5, 0.6], provenance=MADE))
    assert all(word in said for word in ("e57c382f9aab", "torch 2.13.0", "eager", "cpu", "fp32"))
    assert "not made alike" not in said


@pytest.mark.parametrize(
    ("differing", "words"),
    [
        ({"mode": "compiled"}, "modes eager (2 runs), compiled (1 runs)"),
        ({"device": "NVIDIA H200"}, "devices cpu (2 runs), NVIDIA H200 (1 runs)"),
        ({"device": "cpu-avx2-00000a"}, "devices cpu (2 runs), cpu-avx2-00000a (1 runs)"),
        ({"classes": {"mine.Mine": "cccc"}}, "own code mine.Mine aaaa (2 runs), mine.Mine cccc (1 runs)"),
        ({"data_part": True, "data": "mnist"}, "data mnist (2 runs), part of mnist (1 runs)"),
    ],
)
def test_a_mean_over_what_was_not_made_alike_is_named(seeds, record, differing, words):
    made = {**MADE, "data": "mnist"} | ({"classes": {"mine.Mine": "aaaa"}} if "classes" in differing else {})
    records = [*seeds("relu", [0.5, 0.6], provenance=made), record("relu", 2, 0.7, provenance={**made, **differing})]
    result, said = captioned([*records, *seeds("tanh", [0.5, 0.6, 0.7], provenance=made)])
    assert f"ReLU on Permuted digits ({words})" in said
    by_name = {row.name: cell for (row, _), cell in result.cells.items()}
    assert by_name["relu"].mixed
    assert not by_name["tanh"].mixed
    assert "mixed" in csv_text([result.table.listing(result)]).splitlines()[0]


def test_two_states_of_a_changed_checkout_are_told_apart(seeds, record):
    dirty = {**MADE, "dirty": True}
    records = [*seeds("relu", [0.5, 0.6], provenance=dirty | {"code": "aaaa"})]
    _, said = captioned([*records, record("tanh", provenance=dirty | {"code": "bbbb"})])
    assert "e57c382f9aab (changed checkout, code aaaa) (2 runs)" in said
    assert "e57c382f9aab (changed checkout, code bbbb) (1 runs)" in said


@pytest.mark.parametrize(
    ("begun", "ended", "words"),
    [
        ({"code": "aaaa"}, {"code": "bbbb", "dirty": True}, "commit e57c382f9aab (code aaaa)."),
        ({"code": "aaaa", "dirty": True}, {"code": "bbbb"}, "commit e57c382f9aab (changed checkout, code aaaa)."),
        ({"code": "aaaa", "commit": "0" * 40}, {"code": "bbbb"}, "commit 000000000000."),
        ({"code": "aaaa", "versions": {"torch": "2.11.0"}}, {"code": "aaaa"}, ": torch 2.11.0."),
        ({"code": "a", "classes": {"my.Own": "cc"}}, {"code": "a", "classes": {"my.Own": "dd"}}, ": my.Own cc."),
        ({"code": None, "commit": None}, {"code": "bbbb"}, ": not known."),
    ],
)
def test_the_code_that_began_a_run_is_named_by_what_differs(seeds, record, begun, ended, words):
    parts = [{"from_step": 0, **MADE, **begun}, {"from_step": 90, **MADE, **ended}]
    _, said = captioned([*seeds("relu", [0.5, 0.6]), record("relu", 2, 0.7, provenance={**MADE, "parts": parts})])
    (line,) = [line for line in said.splitlines() if line.startswith("Begun by other code")]
    assert line.endswith(words)


@pytest.mark.parametrize(
    ("flag", "says"),
    [("mixed_code", "code"), ("mixed_kind", "kind of device"), ("memory_refilled", "replay memory")],
)
def test_what_happened_to_a_run_is_counted_and_explained(seeds, record, flag, says):
    parts = [{"from_step": 0, **MADE, "kind": None}, {"from_step": 90, **MADE, "kind": "cpu-avx2-00000a"}]
    flagged = record("relu", 2, 0.7, provenance={**MADE, "parts": parts}) | {"flags": {flag: True}}
    result, said = captioned([*seeds("relu", [0.5, 0.6], provenance=MADE), flagged])
    assert [cell.flagged for cell in result.cells.values() if cell.flagged] == [{flag: 1}]
    assert says in said
    assert "their agent says" not in said
