"""The committed mutants still apply: a list that nobody runs each day would rot."""

import ast
import os
import shutil
from pathlib import Path

import pytest

from tests.mutants.__main__ import check_imports, environment, meets
from tests.mutants.mutants import ROOT, Mutant, all_mutants

MUTANTS = all_mutants()


def test_there_are_sixty_with_names_of_their_own():
    assert len(MUTANTS) >= 60
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_changes_its_file_which_still_is_python(mutant):
    text = (ROOT / mutant.file).read_text()
    after = mutant.applied(text)
    assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(text))
    assert mutant.rule.endswith(".")
    assert mutant.tests


def test_their_tests_exist():
    functions: dict[Path, set[str]] = {}
    for mutant in MUTANTS:
        for test in mutant.tests:
            path, *names = test.split("::")
            there = ROOT / path
            assert there.exists(), f"{mutant.name}: {path}"
            for name in names:
                if there not in functions:
                    nodes = ast.walk(ast.parse(there.read_text()))
                    functions[there] = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
                assert name.partition("[")[0] in functions[there], f"{mutant.name}: {test}"


def test_the_text_before_must_occur_once():
    mutant = Mutant("twice", "a.py", "x", "y", "A rule.", ["tests"])
    assert mutant.applied("x = 1") == "y = 1"
    for text in ("", "x = x"):
        with pytest.raises(ValueError, match="twice"):
            mutant.applied(text)


IN_A_PROCESS = """
import subprocess, sys
import rule

def test_elsewhere(tmp_path):
    subprocess.run([sys.executable, "-c", "import rule; assert rule.HOLDS"], cwd=tmp_path, check=True)
"""


@pytest.mark.walk(1)
@pytest.mark.parametrize(
    ("after", "survives", "said", "right"),
    [
        ("HOLDS = False", "", "killed", True),
        ("HOLDS = 1", "", "survived", False),
        ("HOLDS = 1 / 0", "", "not run", False),
    ],
)
def test_a_mutant_is_met_in_the_copy_and_in_its_processes(after, survives, said, right, tmp_path, capsys):
    (tmp_path / "rule.py").write_text("HOLDS = True")
    (tmp_path / "test_rule.py").write_text(IN_A_PROCESS)
    mutant = Mutant("wrong", "rule.py", "HOLDS = True", after, "It holds.", ["test_rule.py"], survives)
    assert meets(tmp_path, mutant, output=False) == right
    words = capsys.readouterr().out
    assert words.startswith(said)
    assert ("test_rule.py::test_elsewhere" in words) == (said == "killed")
    assert (tmp_path / "rule.py").read_text() == "HOLDS = True"


def test_the_copys_packages_come_before_those_of_the_editable_install(tmp_path):
    for package in ("plasticity_lab", "launch", "analysis"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    check_imports(tmp_path)
    assert environment(tmp_path)["PYTHONPATH"].split(os.pathsep)[0] == str(tmp_path)
    shutil.rmtree(tmp_path / "launch")
    with pytest.raises(SystemExit, match="launch"):
        check_imports(tmp_path)
