"""The command and its three lines of Python, from a store to files."""

import csv
import io

import pytest

from analysis.__main__ import main
from analysis.compare import compare
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.record import write_record
from plasticity_lab.records.store import Store
from tests.helpers.curves import classified

pytestmark = pytest.mark.sample(4)

ENDINGS = {"txt", "md", "csv", "tex", "json"}
LONG = {"memory": 280, "per_task": 56, "balanced": True, "replay_batch_size": 32}


@pytest.fixture
def store(tmp_path, record):
    """Two agents with settings of their own, three seeds each."""
    store = Store(tmp_path / "store")
    for seed in range(3):
        for agent, value in (({"name": "no_replay"}, 0.3), ({"name": "experience_replay", **LONG}, 0.6)):
            classified(store, record(seed=seed, science={"agent": agent}), [value, value + seed / 50])
    return store


def test_the_table_the_figure_and_their_files(store, capsys):
    assert main(["compare", "--store", str(store.root)]) == 0
    shown = capsys.readouterr()
    assert shown.err == "", "no bar where nobody watches"
    folder = store.root / "tables"
    assert {path.name for path in folder.iterdir()} == {
        *(f"compare_agent.{ending}" for ending in ENDINGS),
        *(f"compare_agent_figure.{ending}" for ending in ("pdf", "svg", "png", "csv", "json")),
    }
    assert (folder / "compare_agent.txt").read_text() in shown.out
    lines = list(csv.DictReader(io.StringIO((folder / "compare_agent.csv").read_text())))
    assert [(line["kind"], line["arm"], line["n"]) for line in lines] == [
        ("arm", "experience_replay", "3"),
        ("arm", "no_replay", "3"),
    ]
    assert float(lines[1]["difference"]) == pytest.approx(-30)
    assert lines[1]["iqm_interval"] == "Student's t"


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--by", "activation"], ["activation=relu"]),
        (["--by", "nothing"], ["nothing", "agent"]),
        (["--against", "dqn"], ["dqn", "experience_replay, no_replay, or best"]),
        (["--metric", "tao"], ["tao", "taoa"]),
        (["--where", "agent=no_replay"], ["nothing but their seeds"]),
    ],
)
def test_what_cannot_be_compared_has_one_sentence(store, words, parts, capsys):
    assert main(["compare", "--store", str(store.root), *words]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert all(part in said.err for part in parts)
    assert not (store.root / "tables").exists()


def test_of_a_run_in_two_stores_the_one_that_stays_is_named(store, tmp_path, record, capsys):
    other = Store(tmp_path / "other")
    write_record(other, record(seed=0, taoa=0.99, science={"agent": {"name": "no_replay"}}))
    main(["compare", "--store", str(store.root), str(other.root), "--no-figure"])
    shown = capsys.readouterr()
    for words in (shown.err, " ".join(shown.out.split())):
        assert f"1 runs of {other.root}, which lie in {store.root} too" in words
    assert "99.00" not in shown.out


def test_the_json_makes_the_table_again(store, tmp_path, capsys):
    main(["compare", "--store", str(store.root), "--no-figure"])
    first = capsys.readouterr().out.partition("Written:")[0]
    made = store.root / "tables" / "compare_agent.json"
    assert main(["compare", "--store", str(made), "--out", str(tmp_path / "again")]) == 0
    assert capsys.readouterr().out.partition("Written:")[0] == first
    assert (tmp_path / "again" / "compare_agent_figure.png").exists(), "without the curves, which are not at hand"


def test_runs_whose_curves_are_not_there_are_counted(store, capsys):
    run = next(path for path in store.root.rglob("metrics.parquet"))
    run.unlink()
    assert main(["compare", "--store", str(store.root)]) == 0
    assert capsys.readouterr().err.count(str(run)) == 1
    drawn = compare(store.root).drawing
    assert any("Runs without a curve on Permuted digits: 1 of" in sentence for sentence in drawn.caption)


def test_the_same_from_python(store):
    result = compare(store.root, by="agent", against="no_replay")
    assert result.found.shown[0].against("experience_replay").difference.value == pytest.approx(30)
    assert "| no_replay" in result.markdown()
    assert r"\begin{tabular}" in result.latex()
    assert compare([store.root], where={"seed": [0, 1]}).found.shown[0].arms[0].n == 2
    with pytest.raises(ConfigError):
        compare(store.root, where={"agent": "no_replay"})
    with pytest.raises(StoreError):
        compare(store.root / "nowhere")


@pytest.mark.parametrize(
    ("status", "words"), [("diverged", "diverged"), ("failed", "failed"), ("stopped", "stopped early")]
)
def test_arms_of_which_no_run_has_a_value_have_a_table_and_no_figure(tmp_path, seeds, capsys, status, words):
    store = Store(tmp_path / "store")
    for name in ("none", "snr"):
        for one in seeds("relu", [0.5, 0.6], intervention=name, status=status):
            write_record(store, one)
    assert main(["compare", "--store", str(store.root)]) == 0
    shown = capsys.readouterr().out
    assert f"none: 2 of 2 runs {words}" in shown
    assert "No figure" in shown
    assert "nan" not in shown
