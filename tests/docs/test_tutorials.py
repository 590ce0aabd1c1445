"""Each tutorial runs as it is written, and prints what it shows. `make test` runs the first one, SLOW=1 all of them."""

import pytest

from tests.docs.pages import PAGES_FOLDER, ROOT
from tests.docs.tutorials import FOLDER, TUTORIALS, printed_words, script_of, typed

ALWAYS = ("first_sweep",)
"""Others train for longer than ten seconds."""
CASES = [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.slow) for name in TUTORIALS]


@pytest.mark.parametrize("name", CASES)
def test_it_runs_as_written_and_prints_what_it_shows(name, tmp_path):
    ended = typed(FOLDER / f"{name}.md", tmp_path)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    printed = " ".join(ended.stdout.split())
    words = printed_words((FOLDER / f"{name}.md").read_text())
    assert [line for line in words if line not in printed] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["how_to/check_a_number", "how_to/load_a_network", "explanation/equation"])
def test_a_page_with_commands_to_try_runs_as_written(name, tmp_path):
    """With the clone on Python's path: `tests` is a folder of it."""
    ended = typed(PAGES_FOLDER / f"{name}.md", tmp_path, PYTHONPATH=str(ROOT))
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    assert ("1 runs compared, 0 differences" in ended.stdout) == (name != "how_to/load_a_network")


@pytest.mark.parametrize("name", TUTORIALS)
def test_it_says_beforehand_what_it_takes_and_shows_and_ends_with_where_to_go_on(name):
    text = (FOLDER / f"{name}.md").read_text()
    head, *_, last = text.split("\n## ")
    assert "**Time:**" in head
    assert "**You will see**" in head
    assert last.startswith("Where to go on\n")
    assert last.count("](") >= 3
    assert len(script_of(text).splitlines()) > 3, "nothing that a test could run"
