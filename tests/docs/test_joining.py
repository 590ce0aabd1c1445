"""What somebody who joins is given besides pages: hooks that check what `make lint` checks, templates, how to cite."""

import re

import yaml

import plasticity_lab
from tests.docs.pages import FENCE, LINK, ROOT, SPAN, command

TEMPLATES = sorted((ROOT / ".github").rglob("*.md"))


def test_the_hooks_check_what_make_lint_checks():
    lint = (ROOT / "Makefile").read_text().partition("\nlint:")[2]
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repository["repo"] for repository in hooks] == ["local"], "ruff of another version"
    entries = [hook["entry"] for repository in hooks for hook in repository["hooks"]]
    checked = [line.strip().removesuffix(" .") for line in lint.splitlines() if line.startswith("\t")]
    assert [entry.replace(" --force-exclude", "") for entry in entries] == checked


def test_the_citation_names_this_version_and_the_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "license"} <= set(citation)
    assert citation["version"] == plasticity_lab.__version__
    assert [author["family-names"] for author in citation["references"][0]["authors"]] == ["Lillo", "Cheney"]


def test_what_the_templates_link_and_show_is_there():
    assert {path.name for path in TEMPLATES} >= {"pull_request_template.md", "bug.md"}
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for path in TEMPLATES:
        text = path.read_text()
        for link in LINK.findall(text):
            assert (path.parent / link).exists(), f"{path}: {link} leads nowhere"
        for span in SPAN.findall(FENCE.sub("", text)):
            shown = command(path.name, span.split())
            if shown is not None and shown.module is None:
                assert shown.words[0] in targets, f"{path}: make has no target {shown.words[0]}"
