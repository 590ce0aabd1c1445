"""Files from before the first release, or of a later one: every command answers in one sentence, and leaves them."""

import json

import pytest

from analysis.__main__ import main as analysis
from analysis.tables import TABLES
from launch.__main__ import main
from launch.command import run_command
from plasticity_lab.records.checkpoint import latest_epoch, load_checkpoint, save_checkpoint
from plasticity_lab.records.damage import NewFormat, OldFormat
from plasticity_lab.records.plan import NewerPlan, all_plans, read_plan
from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store
from tests.helpers.old_files import flat, plan_in_format, record_in_format_1
from tests.helpers.sweeps import SMOKE, after_looks, planned, runs_of, said_last, trained

SENTENCE = "that an earlier version of plasticity_lab wrote"
NEWER = "which a newer version of plasticity_lab wrote"


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def files(store):
    """All but the index, which any command may add to."""
    there = (path for path in sorted(store.root.rglob("*")) if store.index_folder not in path.parents)
    return {path: path.read_bytes() for path in there if path.is_file()}


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_plan_of_an_old_format_is_refused_and_the_others_are_read(store, number):
    plan, other = planned(store, "activation=relu,leaky_relu", "seed=0,1"), planned(store, "seed=7")
    plan_in_format(store, plan, number)
    with pytest.raises(OldFormat, match=rf"format {number} {SENTENCE}"):
        list(all_plans(store, []))
    assert read_plan(store, other.sweep) == other


def test_a_plan_of_a_later_version_is_named_and_left(store):
    plan = planned(store, "seed=0")
    store.plan(plan.sweep).write_text(json.dumps({"format": 99}))
    with pytest.raises(NewerPlan, match="format 99"):
        read_plan(store, plan.sweep)
    assert json.loads(store.plan(plan.sweep).read_text()) == {"format": 99}


@pytest.mark.parametrize(("refused", "sentence"), [(OldFormat, SENTENCE), (NewFormat, NEWER)], ids=["old", "new"])
def test_an_old_or_newer_record_and_checkpoint_are_refused_by_all_and_left(store, capsys, refused, sentence):
    (run,) = trained(store, "seed=0", "launch.workers=1").runs
    (pack,) = trained(store, "seed=5,6", "launch.workers=1", stop=after_looks(4)).packs
    payload = load_checkpoint(store, pack.id)
    if refused is OldFormat:
        record_in_format_1(store, run)
        other = {"journal": flat(payload["journal"])}
    else:
        record = store.record(run)
        record.write_text(json.dumps(json.loads(record.read_text()) | {"format": 3}))
        other = {"format": 3}
    save_checkpoint(store, pack.id, latest_epoch(store, pack.id), payload | other)
    before = files(store)
    with pytest.raises(refused, match=f"record of format .*{sentence}"):
        read_record(store, run)
    with pytest.raises(refused, match=f"checkpoint .*{sentence}"):
        load_checkpoint(store, pack.id)
    name = next(name for name, table in TABLES.items() if not table.needs_runs() and table.runs == "shown")
    for command in (
        lambda: main(["status", "--store", str(store.root)]),
        lambda: main(["show", runs_of("seed=0")[0].id, "--store", str(store.root)]),
        lambda: analysis(["table", "--store", str(store.root)]),
        lambda: analysis(["table", name, "--store", str(store.root)]),
        lambda: run_command(said_last(*SMOKE, "seed=0,1", f"store={store.root}")),
    ):
        assert command() == 1
        err = capsys.readouterr().err.splitlines()
        assert [line for line in err if sentence in line] == err[-1:]
        assert files(store) == before


@pytest.mark.parametrize("words", [("table",), ("figure", "curves"), ("report",)])
def test_old_plans_are_answered_by_all_of_analysis_in_one_sentence(store, words, tmp_path, capsys):
    """Not passed over as damaged ones are: runs that wait would be missing without a word."""
    trained(store, "seed=0")
    for plan in (planned(store, "seed=7"), planned(store, "seed=8")):
        plan_in_format(store, plan, 3)
    assert analysis([*words, "--store", str(store.root), "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr()
    assert said.err.count(SENTENCE) == 1
    assert not said.out
