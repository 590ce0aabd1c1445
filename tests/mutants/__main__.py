"""Apply committed mutants to a copy of the tree, one after the other, and see whether their tests fail.

python -m tests.mutants               tries all mutants of tests/mutants/list.yaml
python -m tests.mutants NAME …        tries these
python -m tests.mutants --unchanged   runs all their tests on the copy without a mutant: they must pass

The status is 1 if a mutant survives that has no `survives`, or if its tests could not be run.
"""

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import copy2

from tests.mutants.mutants import ROOT, Mutant, all_mutants

PACKAGES = ("plasticity_lab", "launch", "analysis")
KILLED, SURVIVED = 1, 0
"""Pytest's status if a test failed, and if all passed. Any other one says that the tests could not be run."""
_FIRST = re.compile(r"^(?:FAILED|ERROR) (\S+(?: \S+?\])?)", re.MULTILINE)


def main() -> int:
    """Try the mutants and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants to try; all of them by default")
    parser.add_argument("--unchanged", action="store_true", help="run the tests without a mutant: they must pass")
    parser.add_argument("--output", action="store_true", help="show pytest's output")
    asked = parser.parse_args()
    known = {mutant.name: mutant for mutant in all_mutants()}
    if wrong := [name for name in asked.names if name not in known]:
        parser.error(f"there is no mutant {', '.join(wrong)}; tests/mutants/list.yaml has their names.")
    mutants = [known[name] for name in asked.names] or list(known.values())
    with tempfile.TemporaryDirectory(prefix="mutants_") as folder:
        tree = Path(folder).resolve() / "tree"
        copy_tree(tree)
        check_imports(tree)
        if asked.unchanged:
            tests = sorted({test for mutant in mutants for test in mutant.tests})
            status, words, seconds = tried(tree, tests, asked.output)
            print(f"{'pass' if status == SURVIVED else 'fail':9} {seconds:5.0f} s  without a mutant  {words}")
            return int(status != SURVIVED)
        return int(not all([meets(tree, mutant, asked.output) for mutant in mutants]))


def copy_tree(tree: Path) -> None:
    """Copy the working state of all files that git knows or would add, with a link to the virtual environment.

    The copy is a git repository of its own, since some tests ask git.
    """
    subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", ROOT, tree], check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            copy2(ROOT / name, tree / name)
    subprocess.run(["git", "reset", "--quiet"], cwd=tree, check=True)
    (tree / ".venv").symlink_to(Path(sys.prefix))


def check_imports(tree: Path) -> None:
    """Stop if Python would import a package of ours from elsewhere: the editable install names the original tree."""
    code = f"import {', '.join(PACKAGES)}; print(*(each.__file__ for each in ({', '.join(PACKAGES)})), sep='\\n')"
    for cwd in (tree, tree.parent):
        ran = [sys.executable, "-c", code]
        found = subprocess.run(ran, cwd=cwd, env=environment(tree), check=True, capture_output=True, text=True).stdout
        if outside := [file for file in found.splitlines() if not Path(file).is_relative_to(tree)]:
            sys.exit(f"The tests would import {', '.join(outside)}, which is not the copy with the mutant.")


def environment(tree: Path) -> Mapping[str, str]:
    """The variables of the tests: the copy comes first where modules are looked for, also in child processes."""
    before = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(tree), *([before] if before else [])])
    return {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path}


def meets(tree: Path, mutant: Mutant, output: bool) -> bool:
    """Try a mutant in the copy and print how it ended.  Returns whether that is as its entry says."""
    path = tree / mutant.file
    original = path.read_text()
    # A compiled file counts as current if its source has the same size and second.
    compiled = Path(importlib.util.cache_from_source(str(path)))
    try:
        path.write_text(mutant.applied(original))
        compiled.unlink(missing_ok=True)
        status, words, seconds = tried(tree, mutant.tests, output)
    finally:
        path.write_text(original)
        compiled.unlink(missing_ok=True)
    ended = {KILLED: "killed", SURVIVED: "survived"}.get(status, "not run")
    if status == SURVIVED:
        words = mutant.survives
    print(f"{ended:9} {seconds:5.0f} s  {mutant.name}  {words}", flush=True)
    return status == KILLED or (status == SURVIVED and bool(mutant.survives))


def tried(tree: Path, tests: Sequence[str], output: bool) -> tuple[int, str, float]:
    """Run tests in the copy until one fails: pytest's status, the first failing test, CPU seconds."""
    marks = "not slow and not cuda and not slurm"
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", marks, *tests]
    began = _cpu_seconds()
    ran = subprocess.run(command, cwd=tree, env=environment(tree), capture_output=True, text=True)
    if output:
        print(ran.stdout, ran.stderr)
    first = _FIRST.search(ran.stdout)
    last = (ran.stderr or ran.stdout).strip().splitlines()[-1:]
    words = first[1] if first else "".join(last) if ran.returncode not in (KILLED, SURVIVED) else ""
    return ran.returncode, words, _cpu_seconds() - began


def _cpu_seconds() -> float:
    """The CPU seconds of all children that have ended."""
    of = os.times()
    return of.children_user + of.children_system


if __name__ == "__main__":
    sys.exit(main())
