"""A class of one's own, edited after its runs have finished: the command says so, and changes nothing by itself."""

import json
import sys

import pytest

from launch.command import resolve
from launch.launchers.local import Machine
from launch.launchers.prepare import prepared
from launch.launchers.report import to_be_trained
from launch.packs.todo import outstanding
from plasticity_lab import component
from plasticity_lab.records.own_classes import digest_of_class
from plasticity_lab.records.record import read_record
from tests.helpers.sweeps import SMOKE, never, work

LOADED = """
import importlib.util
from pathlib import Path

spec = importlib.util.spec_from_file_location("its_helper", Path(__file__).parent / ("its_" + "helper.py"))
helper = importlib.util.module_from_spec(spec)
spec.loader.exec_module(helper)
"""

PYTHON = """
from plasticity_lab.activations.activation import Activation

class Scaled(Activation):
    def __init__(self) -> None: ...

    def __call__(self, x, site):
        return {factor} * x
"""


@pytest.fixture
def somebodys(tmp_path, monkeypatch):
    """Writes the class, as a process sees it that begins then; returns the words that name it."""
    (tmp_path / "conf" / "activation").mkdir(parents=True)
    (tmp_path / "conf" / "activation" / "scaled.yaml").write_text("_target_: somebodys_edited.Scaled\n")
    monkeypatch.syspath_prepend(tmp_path)

    def write(factor):
        (tmp_path / "somebodys_edited.py").write_text(PYTHON.format(factor=factor))
        sys.modules.pop("somebodys_edited", None)
        component.load.cache_clear()
        digest_of_class.cache_clear()
        return [*SMOKE, f"hydra.searchpath=[file://{tmp_path}/conf]", "activation=scaled"]

    yield write
    sys.modules.pop("somebodys_edited", None)
    component.load.cache_clear()
    digest_of_class.cache_clear()


def finished(store, words):
    """Gives the command, as far as the sorting of its runs goes; trains what is left."""
    found = resolve(words)
    settings = found.settings.model_copy(update={"store": store.root})
    store.prepare()
    ready = prepared(found.runs, settings, Machine.of(settings).resources)
    if to_be_trained(ready, 1):
        work(store, ready.plan.sweep, "cpu", never)
    return found.runs


@pytest.mark.sample(2)
def test_the_command_names_the_file_the_run_and_the_way_out(store, somebodys, capsys):
    (run,) = finished(store, somebodys("1.0"))
    first = read_record(store, run.id)
    assert list(first["provenance"]["classes"]) == ["somebodys_edited.Scaled"]
    capsys.readouterr()
    finished(store, somebodys("1.0"))
    assert "somebodys_edited.py" not in capsys.readouterr().err
    words = somebodys("3.0")
    finished(store, words)
    said = capsys.readouterr().err
    (line,) = [line for line in said.splitlines() if "somebodys_edited.py" in line]
    assert run.id in line
    assert "rerun=true" in line
    assert read_record(store, run.id) == first
    finished(store, [*words, "rerun=true"])
    again = read_record(store, run.id)
    assert again["provenance"]["classes"] != first["provenance"]["classes"]
    assert again["summary"]["taoa"] != first["summary"]["taoa"]
    assert outstanding(store, [run], rerun=False, retries=1).edited == {}


@pytest.mark.sample(2)
def test_a_helper_that_the_class_loads_by_importlib_is_part_of_it(store, somebodys, tmp_path):
    helper = tmp_path / "its_helper.py"
    helper.write_text("slope = 1")

    def loading():
        words = somebodys("helper.slope")
        with (tmp_path / "somebodys_edited.py").open("a") as file:
            file.write(LOADED)
        return words

    (run,) = finished(store, loading())
    assert outstanding(store, [run], rerun=False, retries=1).edited == {}
    helper.write_text("slope = 2")
    loading()
    assert outstanding(store, [run], rerun=False, retries=1).edited == {"somebodys_edited.Scaled": [run.id]}
    record = read_record(store, run.id)
    (digest,) = record["provenance"]["classes"].values()
    record["provenance"]["classes"] = {"somebodys_edited.Scaled": digest.partition("+")[0]}
    store.record(run.id).write_text(json.dumps(record))
    assert outstanding(store, [run], rerun=False, retries=1).edited == {}, "an earlier version did not know the helper"
