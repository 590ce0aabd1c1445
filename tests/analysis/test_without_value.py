"""Runs without a value: every command says what became of them, and none takes them for something else."""

import polars as pl
import pytest

from analysis import load
from analysis.__main__ import main
from analysis.figures.curves import curves
from analysis.figures.drawing import Asked
from analysis.figures.groups import groups, not_shown
from analysis.outcomes import over_tasks, why_none
from analysis.rows import rows
from analysis.tables import TABLES
from analysis.tables.build import build
from analysis.tables.declared.means import HEADLINE
from analysis.tables.render import csv_text, text
from plasticity_lab.agents.ppo.agent import PPO_MEASURES
from plasticity_lab.records.record import write_metrics, write_record
from plasticity_lab.records.store import Store

NOTHING = {measure.name: None for measure in PPO_MEASURES.summaries} | {"taoa": None, "gap": None}
SILENT = NOTHING | {"episodes": 0, "tasks": 4, "tasks_with_episodes": 0}
COMMANDS = (
    ("table",), ("table", "headline"), ("figure", "E1"), ("figure", "curves"), ("figure", "first_last"),
    ("figure", "sensitivity", "--by", "optimizer.lr"),
)  # fmt: skip


@pytest.fixture
def ppo(record):
    """Records of PPO by summary: one for each."""

    def made_of(*summaries, **what):
        agent = {"agent": {"name": "ppo"}}
        found = [record("relu", at, summary=one, science=agent, **what) for at, one in enumerate(summaries)]
        return [one | {"measures": PPO_MEASURES.as_json()} for one in found]

    return made_of


@pytest.fixture
def stored(tmp_path):
    """Writes records, with metrics of no rows, into a store."""

    def write(records):
        store = Store(tmp_path / "store")
        for one in records:
            if one["status"] != "failed":
                files = write_metrics(store, one["run"], PPO_MEASURES.schema.empty_table())
                one = one | {"files": {"metrics.parquet": files}}
            write_record(store, one)
        return tmp_path / "store"

    return write


def said(store, capsys, *words):
    code = main([*words, "--store", str(store)])
    out, err = capsys.readouterr()
    return code, out + err


def ends(record, *statuses, **what):
    """Runs of two learning rates that ended so."""
    return [
        record(seed=seed, status=status, lr=lr, summary={"taoa": None} if status == "done" else {}, **what)
        | ({"summary": {}} if status != "done" else {})
        for lr in (0.1, 0.2)
        for seed, status in enumerate(statuses)
    ]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_runs_in_which_no_episode_ended_are_told_as_those(words, ppo, stored, capsys):
    store = stored([*ppo(SILENT, SILENT, lr=0.1), *ppo(SILENT, SILENT, lr=0.2)])
    code, told = said(store, capsys, *words)
    assert code == 1
    assert "no episode ended in 4 of 4 runs" in told
    frame, _ = load(store)
    assert frame["status"].to_list() == ["done"] * 4
    assert frame["final_return"].to_list() == [None] * 4


def test_a_choice_among_runs_without_a_value_is_none_and_says_why(ppo, record, stored, capsys):
    store = stored([*ppo(SILENT, SILENT, lr=0.1), *ppo(SILENT, SILENT, lr=0.2)])
    code, told = said(store, capsys, "table", "selected")
    assert code == 0
    assert "No choice for ReLU" in told
    assert "no episode ended in 4 of 4 runs" in told
    assert "No activation here has two settings" not in told
    lost = [*ends(record, "diverged"), record(lr=0.3, taoa=0.5), record(lr=0.4, taoa=0.6)]
    (listing,) = TABLES["selected"].listings(rows(lost))
    assert any("2 have no value on a seed" in line for line in listing.caption)


def test_a_cell_counts_runs_with_and_without_an_episode_apart(ppo):
    whole = {"final_return": 3.0, "episodes": 8, "tasks": 4, "tasks_with_episodes": 4}
    part = {"final_return": 5.0, "episodes": 8, "tasks": 4, "tasks_with_episodes": 2}
    infinite = NOTHING | {"episodes": 8, "tasks": 4, "tasks_with_episodes": 4}
    found = rows(ppo(whole, part, SILENT, infinite))
    (result,) = build(HEADLINE, found)
    (cell,) = result.cells.values()
    assert (cell.n, cell.expected, cell.no_episode, cell.no_value, cell.mean) == (2, 4, 1, 1, 4.0)
    assert not cell.complete
    words = text([result.table.listing(result)])
    assert "(2/4, no episode ended in 1, 1 without a value, over 2 of 4 tasks)" in words
    assert "no episode ended in 1 of 4 runs" in words
    assert "In 1 of 2 runs with a value" in words
    line = csv_text([result.table.listing(result)]).splitlines()[0]
    assert {"no_episode", "no_value", "over_tasks"} <= set(line.split(","))
    lines = not_shown(groups(HEADLINE, found))
    assert "1 without an ended episode" in lines[0]
    assert "not finished" not in lines[0]
    assert "over 2 of 4" in lines[-1]


def test_a_curve_is_of_all_runs_that_have_it_whatever_their_headline(ppo):
    records = ppo(SILENT, SILENT)
    table = pl.DataFrame(
        [{"run": one["run"], "kind": "epoch", "task": 0, "epoch": at, "step": 10 * at + 10, "policy_loss": 1.0 + at}
         for one in records for at in range(3)]
    )  # fmt: skip
    drawing = curves(
        Asked(rows(records), lambda runs: table.filter(pl.col("run").is_in(list(runs))).lazy(), "policy_loss")
    )
    (panel,) = drawing.panels
    assert panel.series[0].n == [2] * 3
    assert not any("Not in the means" in line for line in drawing.caption)


def test_bodies_without_an_ended_episode_have_no_return_and_count_as_no_failure(cycles):
    records = cycles({"relu": [[([1, 2, 3, 4], [1, 1, 1, 1])] * 2, [([None, 2, 3, 6], [1, 1, 1, 1])] * 2]})
    (listing,) = TABLES["tableF2"].listings(rows(records), None, cycles.metrics)
    of = {line["column"]: line for line in listing.lines if line["activation"] == "relu"}
    assert (of["halfcheetah"]["value"], of["halfcheetah"]["no_episode"], of["halfcheetah"]["failed"]) == (1, 1, 0)
    assert (of["hopper"]["value"], of["hopper"].get("no_episode")) == (5, None)
    assert "No episode ended in a task of 1 of 2 finished runs" in text([listing])
    for name in ("tableF1", "tableF3"):
        (listing,) = TABLES[name].listings(rows(records), None, cycles.metrics)
        assert "(1/2, no episode ended in 1)" in text([listing])


def test_words_of_counts():
    runs = [("done", {"x": 1.0}), ("done", {"x": None, "episodes": 0}), ("waiting", {}), ("diverged", {"x": 2.0})]
    assert why_none(runs, "x") == "1 of 4 runs diverged; no episode ended in 1 of 4 runs; 1 of 4 runs not finished"
    assert why_none([("done", {"x": 0.0})], "x") == ""
    assert (over_tasks([(2, 4)]), over_tasks([(2, 4), (3, 4)])) == ("2 of 4", "2 to 3 of 4")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (["diverged"] * 2, ["4 of 4 runs diverged"]),
        (["failed"] * 2, ["4 of 4 runs failed"]),
        (["failed", "diverged"], ["2 of 4 runs diverged", "2 of 4 runs failed"]),
        (["done", "diverged"], ["2 of 4 runs diverged", "2 of 4 runs finished without a value"]),
    ],
)
def test_where_no_run_has_a_value_a_command_says_what_became_of_them(words, statuses, expected, record, stored, capsys):
    code, told = said(stored(ends(record, *statuses)), capsys, *words)
    assert code == 1
    assert all(each in told for each in expected), told
