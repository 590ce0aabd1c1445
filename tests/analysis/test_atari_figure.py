"""Returns on Atari beside Dopamine's, on runs made by hand."""

import polars as pl
import pytest

from analysis.figures.atari import atari
from analysis.figures.drawing import Asked
from analysis.rows import rows
from plasticity_lab.agents.value.agent import VALUE_MEASURES
from plasticity_lab.errors import ConfigError

PONG = {"name": "atari", "game": "pong", "environment_steps": 1_000_000, "sticky": 0.25}
RETURNS = {"dqn": [-21.0, -19.0], "rainbow": [-20.0, -12.0]}
"""Agent → of its only run, at steps 250,000 and 1,000,000."""


@pytest.fixture
def played(record):
    """Runs of two agents with Nature's encoder on Pong, and their metrics."""
    records, table = [], []
    for agent, returns in RETURNS.items():
        science = {"agent": {"name": agent}, "network": {"name": "nature"}}
        one = record(benchmark=PONG, science=science) | {"measures": VALUE_MEASURES.as_json()}
        records.append(one)
        table += [
            {"run": one["run"], "kind": "episode", "task": 0, "step": step, "return": value, "body": 0}
            for step, value in zip((250_000, 1_000_000), returns, strict=True)
        ]
    return Asked(rows(records), lambda runs: pl.LazyFrame(table).filter(pl.col("run").is_in(list(runs))))


def test_a_game_has_a_panel_with_its_agents_and_dopamines_of_the_same_agent_and_encoder(played):
    (panel,) = atari(played).panels
    dqn, rainbow, dopamine, random = panel.series
    assert panel.title == "Pong"
    assert dqn.y == RETURNS["dqn"]
    assert rainbow.y == RETURNS["rainbow"]
    assert dqn.x == pytest.approx([1.0, 4.0], abs=0.05), "millions of frames, four a step"
    assert (dopamine.label, dopamine.x) == ("dqn, nature, Dopamine's", [10.0, 50.0, 100.0, 200.0])
    assert dopamine.y == [1.12, 18.21, 19.1, 19.52]
    assert (random.label, random.y) == ("random play", [-20.7, -20.7])


def test_runs_of_other_benchmarks_have_no_place_in_it(record):
    with pytest.raises(ConfigError, match="benchmark=atari"):
        atari(Asked(rows([record()]), lambda runs: pl.LazyFrame()))
