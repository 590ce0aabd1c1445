import json
import sys

import pytest

from tests.prose import __main__ as command
from tests.prose.__main__ import COUNTS, counted, risen
from tests.prose.passages import COMMENTS, DOCS, MESSAGES, of_page, of_python
from tests.prose.patterns import PATTERNS

MODULE = '''"""What a run costs,
which stands here."""
LIMIT = 3  # where there is one
raise ValueError(f"{LIMIT} is what the plan allows; ask for less.")
KEY = "what now"
'''
PAGE = """# Costs

Beside `what stands in code` [the plan](docs/what is.md) stands.

```text
what a block of code says
```
Whose block?
"""


def _kinds(passages):
    counts = counted(passages)
    return {(corpus, kind): count for corpus, kinds in counts.items() for kind, count in kinds.items() if count}


def test_a_module_has_docstrings_comments_and_messages_but_no_keys():
    assert _kinds(of_python(MODULE, "module.py")) == {
        (COMMENTS, "what …, without its noun"): 1,
        (COMMENTS, "stands for is"): 1,
        (COMMENTS, "where for if or when"): 1,
        (MESSAGES, "what …, without its noun"): 1,
    }


def test_a_page_is_read_without_its_code_and_addresses():
    assert _kinds(of_page(PAGE, "page.md")) == {
        (DOCS, "beside"): 1,
        (DOCS, "stands for is"): 1,
        (DOCS, "whose"): 1,
    }
    assert [passage.first for passage in of_page(PAGE, "page.md")] == [1, 3, 8]


def test_a_pattern_is_found_across_lines_and_in_either_case():
    (passage,) = (p for p in of_python('"""Costs, and WHAT\n  they are."""', "module.py"))
    assert passage.text == "Costs, and WHAT they are."
    assert [passage.line_at(passage.text.index(word)) for word in ("Costs", "WHAT", "they", "are.")] == [0, 0, 1, 1]
    assert counted([passage])[COMMENTS]["what …, without its noun"] == 1


def test_a_count_that_rises_is_named_and_one_that_falls_is_not():
    before = counted(of_python(MODULE, "module.py"))
    more = counted([*of_python(MODULE, "module.py"), *of_python("# beside", "other.py")])
    assert risen(more, before) == [(COMMENTS, "beside", 0, 1)]
    assert risen(before, more) == []
    assert risen(before, {})[0] == (COMMENTS, "what …, without its noun", 0, 1), "nothing committed is a count of 0"


@pytest.mark.parametrize(
    ("kind", "places"),
    [("whose", ["page.md:8: Whose block?"]), ("mates", [])],
)
def test_the_command_lists_where_a_kind_occurs(kind, places, monkeypatch, capsys):
    monkeypatch.setattr(command, "passages", lambda _: of_page(PAGE, "page.md"))
    monkeypatch.setattr(sys, "argv", ["prose", "--list", kind])
    assert command.main() == 0
    assert capsys.readouterr().out.splitlines() == places


def test_every_kind_is_counted_in_the_committed_file():
    for kinds in json.loads(COUNTS.read_text()).values():
        assert set(kinds) == set(PATTERNS)
