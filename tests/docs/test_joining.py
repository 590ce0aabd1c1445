"""Hooks for somebody who joins: they check what `make lint` checks."""

import yaml

from tests.docs.pages import ROOT


def test_the_hooks_check_what_make_lint_checks():
    lint = (ROOT / "Makefile").read_text().partition("\nlint:")[2]
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repository["repo"] for repository in hooks] == ["local"], "ruff of another version"
    entries = [hook["entry"] for repository in hooks for hook in repository["hooks"]]
    checked = [line.strip().removesuffix(" .") for line in lint.splitlines() if line.startswith("\t")]
    assert [entry.replace(" --force-exclude", "") for entry in entries] == checked
