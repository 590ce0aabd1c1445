"""The public names; tests/test_packaging.py imports them where torch and numpy are the only packages."""

import ast
import gc
from pathlib import Path

import pytest

from plasticity_lab import outside


def test_another_name_is_refused_with_the_right_ones():
    with pytest.raises(AttributeError, match="measure"):
        outside.measures  # noqa: B018
    assert dir(outside) == sorted(outside.PLACES)
    assert outside.measure
    assert gc.isenabled()


def test_type_checkers_are_told_of_every_public_name():
    tree = ast.parse(Path(outside.__file__).read_text())
    told = {
        each.name: node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names
    }
    assert set(outside.__all__) == set(outside.PLACES)
    for name, place in outside.PLACES.items():
        assert told[name] == f"plasticity_lab.outside.{place}"
