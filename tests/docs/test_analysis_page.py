"""The recipes of the page about analysis run as they stand there, one after the other, on the store it asks for."""

import matplotlib
import pytest

from plasticity_lab.records.store import Store
from tests.docs.pages import ROOT, commands_of, fences
from tests.helpers.sweeps import trained

PAGE = ROOT / "docs/pages/how_to/analysis.md"
BLOCKS = [content for language, content in fences(PAGE.read_text()) if language == "python"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where ./store holds the runs of the page's command."""
    folder = tmp_path_factory.mktemp("analysis page")
    (command,) = (each for each in commands_of(PAGE) if each.module == "plasticity_lab.main")
    trained(Store(folder / "store"), *command.words)
    return folder


def run(block, folder, monkeypatch):
    """What a block leaves under its names."""
    monkeypatch.chdir(folder)
    matplotlib.use("Agg")
    names: dict = {}
    exec(compile(block, str(PAGE), "exec"), names)
    return names


def test_the_lines_that_load(folder, monkeypatch):
    assert len(BLOCKS) == 5, "two that load, and three recipes"
    for lines in (BLOCKS[0], f"from analysis import load\n{BLOCKS[1]}"):
        names = run(lines, folder, monkeypatch)
        assert len(names["runs"]) == 18
        assert names["metrics"].collect()["run"].n_unique() == 18


def test_the_recipes(folder, monkeypatch):
    best = run(BLOCKS[2], folder, monkeypatch)["best"]
    assert sorted(best["activation"]) == ["crelu", "relu", "tanh"]
    assert best["seeds"].to_list() == [3, 3, 3]
    assert best["taoa"].is_between(5, 100).all()
    curves = run(BLOCKS[3], folder, monkeypatch)["curves"]
    points = [(name, task) for name in ("crelu", "relu", "tanh") for task in range(3)]
    assert curves.select("activation", "task").rows() == points
    assert (folder / "curves.png").stat().st_size > 10_000
    names = run(BLOCKS[4], folder, monkeypatch)
    assert 0 <= names["test"].p <= 1
    assert names["estimate"].low <= names["estimate"].value <= names["estimate"].high
