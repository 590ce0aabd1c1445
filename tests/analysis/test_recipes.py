"""The recipes of a table and of a figure, followed in a copy of the package: what the pages say, and nothing else."""

import os
import shutil
import subprocess
import sys

import pytest

from plasticity_lab.records.store import Store
from tests.docs.pages import ROOT, commands_of, fences, files_of
from tests.helpers.curves import classified

pytestmark = pytest.mark.sample(1)

RECIPES = {"table": "last_tenth", "figure": "duration"}


def shown(text: str, title: str) -> str:
    """The lines that a page shows under a block's first line."""
    (found,) = (content for _, content in fences(text) if content.startswith(f"# {title}\n"))
    return found.partition("\n")[2]


@pytest.mark.parametrize("recipe", RECIPES)
def test_its_file_makes_it(recipe, tmp_path, record):
    store, page = Store(tmp_path / "store"), ROOT / "docs/pages/how_to/add" / f"{recipe}.md"
    for seed in range(3):
        classified(store, record("relu", seed=seed), [0.6 + seed / 100, *[0.5] * 8, 0.3])
        classified(store, record("tanh", seed=seed), [0.5 + seed / 100, *[0.5] * 8, 0.6])
    shutil.copytree(ROOT / "analysis", tmp_path / "analysis", ignore=shutil.ignore_patterns("__pycache__", "measured"))
    (tmp_path / "conf").symlink_to(ROOT / "conf")
    for name, content in files_of(page).items():
        assert not (tmp_path / name).exists(), "the page makes a new file"
        (tmp_path / name).write_text(content)
    if recipe == "figure":
        named, text = tmp_path / "analysis" / "figures" / "named.py", page.read_text()
        first, entry = "from analysis.figures.drawing", "FIGURES: dict[str, Callable[[Asked], Drawing]] = {\n"
        changed = named.read_text().replace(entry, entry + shown(text, "in FIGURES"))
        named.write_text(changed.replace(first, shown(text, "among the imports") + first, 1))
    words = next(each.words for each in commands_of(page) if each.module == "analysis" and each.words[-1] == "tried")
    code = f"import sys; from analysis.__main__ import main; sys.exit(main({[*words[:-1], str(store.root)]}))"
    paths = os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    ended = subprocess.run([sys.executable, "-P", "-c", code], env=paths, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    files = {path.suffix for path in store.root.rglob(f"{RECIPES[recipe]}*")}
    assert {".csv", ".json"} <= files
    if recipe == "table":
        assert "30.0" in ended.stdout
        assert "60.0" in ended.stdout
