"""The dashboard as code: built without a network, of metrics and settings that runs have."""

import json
import socket

import pytest
from plasticity_lab.records.summary import summarise

from launch.__main__ import main
from launch.tracking.dashboard import as_json, dashboard
from launch.tracking.wandb import content
from plasticity_lab.records.classifier import CLASSIFIER
from tests.helpers.sweeps import runs_of


@pytest.fixture
def alone(monkeypatch):
    def connect(*_):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", connect)


def panels(built):
    sections = as_json(built)["spec"]["section"]["panelBankConfig"]["sections"]
    return {section["name"]: [panel["config"] for panel in section["panels"]] for section in sections}


def test_every_panel_shows_what_runs_have(alone):
    found = panels(dashboard("us", "mine"))
    assert list(found) == [
        *("Learning curves by activation", "TAOA by activation", "Generalization gap by activation", "Cost")
    ]
    logged = {f"{kind}/{name}": kind for kind, names in content.METRICS.items() for name in names}
    assert {name for names in content.METRICS.values() for name in names} <= set(CLASSIFIER.schema.names)
    summary = summarise(CLASSIFIER.schema.empty_table(), 1, 1.0).keys()
    seen = set()
    for panel in [panel for section in found.values() for panel in section]:
        if "yAxis" in panel:
            named = {panel[axis].removeprefix("summary:") for axis in ("xAxis", "yAxis")}
            assert named <= summary
        else:
            (metric,) = named = panel["metrics"]
            assert panel["groupBy"] == "activation.value.name"
            assert (panel["xAxis"] == logged[metric]) if metric in logged else metric in summary
        seen |= set(named)
    assert {"task/aoa", "epoch/train_loss", "taoa", "gap", "seconds", "parameters"} <= seen
    assert "name" in content.config(runs_of("seed=0")[0].as_json())["activation"], "panels are grouped by it"


def test_one_benchmark_can_be_shown_alone(alone, capsys):
    assert main(["dashboard", "--entity", "us", "--benchmark", "permuted_digits", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["entity"], value["project"]) == ("us", "plasticity_lab")
    (filtered,) = value["spec"]["section"]["runSets"][0]["filters"]["filters"]
    assert filtered["key"]["name"] == "benchmark.value.name"
    assert filtered["value"] == ["permuted_digits"]


def test_publishing_with_a_key_is_one_command(server, capsys):
    assert main(["dashboard", "--project", "mine"]) == 0
    assert capsys.readouterr().out.startswith("http")
    (view,) = server.views
    assert (view["entityName"], view["projectName"]) == ("somebody", "mine")


def test_without_a_key_it_is_refused_in_a_sentence(alone, capsys):
    assert main(["dashboard"]) == 1
    assert capsys.readouterr().err.startswith("Publishing needs a W&B key, and none is configured: `wandb login`")
