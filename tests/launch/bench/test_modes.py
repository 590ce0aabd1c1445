"""Whole commands in turns: each once before it counts, and what is written of them. Nothing here measures time."""

import json

from launch.bench import modes
from tests.helpers.sweeps import planned


def test_each_command_is_given_once_before_it_counts(tmp_path, monkeypatch, capsys):
    given = []

    def one(words, mode):
        given.append((words[0], mode))
        return {"eager": 8.0, "auto": 4.0}[mode] + (90.0 if len(given) <= 2 else 0.0)

    monkeypatch.setattr(modes, "one", one)
    words = ["modes", "--situations", "ppo", "--modes", "eager,auto", "--repeats", "2", "--out", str(tmp_path)]
    monkeypatch.setattr("sys.argv", words)
    assert modes.main() == 0
    assert given == [("benchmark=classic_cycle", "eager"), ("benchmark=classic_cycle", "auto")] * 3
    assert "ppo: eager 8.0 s (2.00 ×), auto 4.0 s (1.00 ×)" in capsys.readouterr().out
    found = json.loads((tmp_path / "modes.json").read_text())
    assert found["cpu_seconds"] == {"ppo": {"eager": [8.0, 8.0], "auto": [4.0, 4.0]}}
    assert found["provenance"]["kind"].startswith("cpu-")


def test_the_situations_are_short_and_long_runs_with_the_updates_that_are_said(store):
    updates = {}
    for name, words in modes.SITUATIONS.items():
        length = [] if "schedule=demo" in words else ["schedule=full"]  # the helper's own is schedule=smoke
        updates[name] = planned(store, *length, *words).packs[0].updates
    assert updates == {"mlp-short": 1_800, "mlp-long": 10_800, "cnn": 6_540, "ppo": 2_400}
