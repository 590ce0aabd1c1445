"""The dashboard as code: built without a network, of metrics and settings that runs have."""

import socket

import pytest

from launch.__main__ import main
from launch.tracking.dashboard import as_json, dashboard
from launch.tracking.wandb import content
from plasticity_lab.records.classifier import CLASSIFIER
from tests.helpers.made_up_agent import PLAYER
from tests.helpers.sweeps import runs_of


@pytest.fixture
def alone(monkeypatch):
    def connect(*_):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", connect)


def panels(built):
    sections = as_json(built)["spec"]["section"]["panelBankConfig"]["sections"]
    return {section["name"]: [panel["config"] for panel in section["panels"]] for section in sections}


CURVES = {"task/aoa", "task/final_accuracy", "epoch/train_loss"}
ITS_CURVES = {"episode/return", "episode/length", "epoch/entropy", "task/regret"}


@pytest.mark.parametrize(("measures", "curves"), [(CLASSIFIER, CURVES), (PLAYER, ITS_CURVES)])
def test_every_panel_shows_what_runs_have(alone, measures, curves):
    declared = measures.declared
    found = panels(dashboard("us", "mine", declared))
    assert list(found) == ["Learning curves by activation", "Summaries by activation", "Cost"]
    axes = content.axes(declared)
    logged = {
        f"{kind}/{name}": axes[f"{kind}/*"] for kind, names in content.metrics(declared).items() for name in names
    }
    summary = {*declared.summaries, content.SPEED}
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
    assert seen == curves | summary
    assert "name" in content.config(runs_of("seed=0")[0].as_json())["activation"], "panels are grouped by it"


def test_publishing_with_a_key_is_one_command(server, capsys):
    assert main(["dashboard", "--project", "mine"]) == 0
    assert capsys.readouterr().out.startswith("http")
    (view,) = server.views
    assert (view["entityName"], view["projectName"]) == ("somebody", "mine")
