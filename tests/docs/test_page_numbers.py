"""The numbers of the pages about studies are what their scripts make of the stored data."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = re.compile(r"^python - (analysis/measured/\S+) <<'EOF'\n(.*?)^EOF$", re.MULTILINE | re.DOTALL)
INTERVAL = re.compile(r"[+−]?\d+\.\d+ \[[+−]?\d+\.\d+, [+−]?\d+\.\d+\]|\d+\.\d+ ± \d+\.\d+")
CASES = {
    f"{page.stem} {Path(data).stem}": (page, data, script)
    for page in sorted((ROOT / "docs/pages/reproduction").glob("*.md"))
    for data, script in SCRIPT.findall(page.read_text(encoding="utf-8"))
}


def cells(row: str) -> list[str]:
    return [cell.strip(" *") for cell in row.strip().strip("|").split("|")]


@pytest.mark.parametrize("case", CASES)
def test_a_page_says_what_its_data_say(case):
    """Each row of a table that the script prints is a row of the page, and each interval stands there."""
    page, data, script = CASES[case]
    text = page.read_text(encoding="utf-8")
    printed = subprocess.run(
        [sys.executable, "-W", "ignore", "-", data], input=script, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.replace("-", "−")
    rows = {tuple(cells(line)[1:]) for line in text.replace("-", "−").splitlines() if line.startswith("|")}
    found = [line for line in printed.splitlines() if line.startswith("| ")]
    assert [line for line in found if tuple(cells(line)[1:]) not in rows] == []
    intervals = INTERVAL.findall(printed)
    assert [each for each in intervals if each not in text.replace("-", "−")] == []
    assert found or intervals
