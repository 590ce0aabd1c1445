"""The recipes' files, taken out of the pages, really train; and a packed run of theirs equals the run alone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from plasticity_lab.records.record import read_metrics
from plasticity_lab.records.store import Store
from plasticity_lab.records.weights import read_weights
from tests.docs.pages import IDEAS, ROOT, commands_of, fences, files_of
from tests.helpers.packs import images, run, trained
from tests.helpers.same_numbers import differences
from tests.helpers.sweeps import all_kept, ended_packs
from tests.helpers.sweeps import trained as trained_by_command

pytestmark = pytest.mark.sample(1)

SAME_NAME = ("activation", "agent", "benchmark", "intervention", "network", "optimizer", "perturbation", "target")
OTHERS = {"change": "intervention", "diagnostic": "diagnostics", "second_network": "intervention"}
RECIPES = {name: name for name in SAME_NAME} | OTHERS
"""The pages, and the groups whose options they add."""


def page(recipe: str) -> Path:
    return ROOT / "docs/pages/how_to/add" / f"{recipe}.md"


@pytest.fixture
def ideas(tmp_path, monkeypatch):
    """A folder with the files of all recipes, as a newcomer would have it."""
    for recipe in RECIPES:
        files = files_of(page(recipe))
        assert sorted(Path(name).suffix for name in files) == [".py", ".yaml"]
        for name, content in files.items():
            path = tmp_path / "ideas" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
    monkeypatch.syspath_prepend(tmp_path / "ideas")
    return tmp_path / "ideas"


def shown(recipe: str, ideas: Path) -> list[tuple[str, ...]]:
    """The words of the commands that a recipe shows, its folder put in."""
    commands = [each for each in commands_of(page(recipe)) if each.module == "plasticity_lab.main"]
    return [tuple(word.replace(IDEAS, str(ideas)) for word in each.words) for each in commands]


@pytest.mark.parametrize("recipe", RECIPES)
def test_its_commands_train_and_a_packed_run_equals_the_run_alone(recipe, ideas, tmp_path):
    """What the page calls its check: one command trains a pack, another one run of it."""
    by_store = {words[-1]: words[:-1] for words in shown(recipe, ideas) if words[-1].startswith("store=")}
    assert list(by_store) == ["store=packed", "store=alone"]
    packed, alone = (Store(tmp_path / name) for name in ("packed", "alone"))
    pairs = zip((packed, alone), by_store.values(), strict=True)
    plans = [trained_by_command(store, *words) for store, words in pairs]
    assert [len(pack["runs"]) for store in (packed, alone) for pack in ended_packs(store)] == [3, 1]
    assert differences(alone, packed) == (1, [])
    numbers = {kept.metrics for kept in all_kept(packed, plans[0].runs.values()).values()}
    assert len(numbers) == 3, "a setting of the first run alone was used for all"
    (record,) = [json.loads(path.read_text()) for path in alone.runs_folder.rglob("record.json")]
    assert record["status"] == "done"
    named = (record["science"] | record.get("besides", {}))[RECIPES[recipe]]["name"]
    assert f"{named}.yaml" in "".join(files_of(page(recipe)))


def test_the_recipes_diagnostic_changes_no_other_number(ideas, tmp_path):
    with_it, without = (Store(tmp_path / name) for name in ("with", "without"))
    words = next(words[:-1] for words in shown("diagnostic", ideas) if words[-1] == "store=alone")
    (run,) = trained_by_command(with_it, *words).runs
    assert list(trained_by_command(without, *(word for word in words if "diagnostics" not in word)).runs) == [run]
    seen, plain = read_metrics(with_it, run), read_metrics(without, run)
    assert set(seen.column_names) - set(plain.column_names) == {"last_rank"}
    assert seen.select(plain.column_names).equals(plain)
    assert 1 <= min(value for value in seen["last_rank"].to_pylist() if value is not None) <= 100
    weights, others = read_weights(with_it, run), read_weights(without, run)
    assert weights
    assert all(torch.equal(weights[name], others[name]) for name in weights)


def test_the_recipes_diagnostic_measures_any_module(ideas):
    blocks = [content for language, content in fences(page("diagnostic").read_text()) if language == "python"]
    (block,) = [content for content in blocks if "measure(" in content]
    names: dict = {}
    exec(compile(block, "diagnostic.md", "exec"), names)
    found, model = names["found"], names["model"]
    hidden = model[1](model[0](names["batch"][0])).detach().double()
    values = torch.linalg.svdvals(hidden)
    assert found["last_rank"] == int((values.cumsum(0) < 0.9 * values.sum()).sum()) + 1


def test_the_padding_stays_zero_under_the_recipes_intervention(ideas):
    """Width 91: the classifier is stored with twelve columns for ten classes."""
    target = "weight_range.WeightRange"
    runs = [
        run(seed, images=61, tasks=2, network={"width": 91}, intervention=(target, {"factor": 0.5})) for seed in (0, 1)
    ]
    weights = trained(runs, images(8, 61, 20)).agent.weights()
    assert weights["output.weight"].shape == (2, 91, 12)
    for layer in ("hidden1", "hidden2", "output"):
        used = {"output": 10}.get(layer, 91)
        assert not weights[f"{layer}.weight"][..., used:].any()
        assert not weights[f"{layer}.bias"][..., used:].any()


def test_a_newcomer_can_give_the_first_command_as_it_stands(ideas, tmp_path):
    """In processes of its own: the workers find the recipe's module by PYTHONPATH."""
    words = shown("activation", ideas)[0]
    store = tmp_path / "store"
    found = subprocess.run(
        [
            sys.executable,
            "-m",
            "plasticity_lab.main",
            *words,
            "benchmark.tasks=1",
            "mode=eager",
            "tracking=store",
            "device=cpu",
            f"store={store}",
        ],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ideas)},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
    assert len(list(store.glob("runs/*/*/record.json"))) == 1
