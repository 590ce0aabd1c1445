"""The release: one version and date in all places, a CHANGELOG that can be read, and the formats of the store."""

import re

import yaml

from plasticity_lab import __version__
from plasticity_lab.records import archive, checkpoint, plan, record
from tests.docs.pages import LINK, ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
HEADINGS = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_latest_release_has_the_version_of_the_code_and_of_the_citation():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert HEADINGS[:2] == ["[Unreleased]", f"[{__version__}] - {citation['date-released']}"]
    assert str(citation["version"]) == __version__


def test_the_changelog_keeps_the_form_and_can_be_read():
    assert set(re.findall(r"^### (.*)$", CHANGELOG, re.MULTILINE)) <= KINDS
    first, _, _ = CHANGELOG.partition("\n## [0.1.0]")
    assert len(CHANGELOG.splitlines()) - len(first.splitlines()) <= 80, "the first release, in at most 80 lines"
    assert max(map(len, CHANGELOG.splitlines())) <= 165
    files = [link.partition("#")[0] for link in LINK.findall(CHANGELOG) if "://" not in link]
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_the_formats_of_the_store_are_named_as_the_code_has_them():
    (page,) = (ROOT / "docs").rglob("store.md")
    named = dict(re.findall(r"^\| (records|plans|checkpoints|archives) \| (\d+) \|", page.read_text(), re.MULTILINE))
    assert named == {
        "records": str(record.FORMAT),
        "plans": str(plan.FORMAT),
        "checkpoints": str(checkpoint.FORMAT),
        "archives": str(archive.FORMAT),
    }
