"""Measurements of a campaign: gradients of convolutions, and several processes on one GPU, on the page of speeds."""

import json
from types import SimpleNamespace

from launch.bench.page import tables
from launch.campaign import convolutions, processes, speed
from launch.campaign.entry import Entry


def stored(tmp_path, name):
    """The measurement in `tmp_path`, as a campaign keeps it."""
    command = f"{{python}} -m launch.campaign.{name} --device {{device}} --out {{out}}"
    (path,) = speed.collected(tmp_path, tmp_path / "speed", "NVIDIA H200", Entry(name, "?", 1, "", commands=(command,)))
    return path


def lines_of(tmp_path, monkeypatch):
    monkeypatch.setattr("launch.bench.page.RESULTS", tmp_path / "speed")
    return tables().splitlines()


def test_gradients_of_convolutions_are_on_the_page(tmp_path, monkeypatch):
    options = SimpleNamespace(device="cpu", width=2, batch=2, calls=1, repeats=1, out=tmp_path)
    convolutions._measured(options)
    stored(tmp_path, "convolutions")
    rows = json.loads((tmp_path / "bench.json").read_text())["comparisons"][0]["rows"]
    ours, torchs = (
        next(f"{1000 * row['seconds']:.3g} ms" for row in rows if row["name"] == f"{way}: gradient of the images")
        for way in ("packed", "torch, grouped")
    )
    lines = lines_of(tmp_path, monkeypatch)
    assert f"| first layer of 2 CNNs, the images | {ours} | {torchs} | [1] |" in lines
    assert sum("layer of 2 CNNs" in line for line in lines) == 4


def test_processes_on_one_gpu_are_on_the_page(tmp_path, monkeypatch):
    """The rate with the service is missing for two processes."""

    def one(options, count, service):
        if service and count == 2:
            return None
        rates = [100.0 * (1 + service)] * count
        return {"name": "", "facts": {"processes": count, "service": service}, "rate": sum(rates), "rates": rates}

    monkeypatch.setattr(processes, "_one", one)
    processes._measured(SimpleNamespace(counts="1,2", out=tmp_path))
    stored(tmp_path, "processes")
    lines = lines_of(tmp_path, monkeypatch)
    assert "| packs of small_impala by processes: 1 | 200 | 100 | [1] |" in lines
    assert "| packs of small_impala by processes: 2 |  | 200 | [1] |" in lines
