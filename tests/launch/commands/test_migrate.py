"""`python -m launch migrate`: an old store is refused in one sentence, migrated, and then goes on as if it were new."""

import pytest

from analysis.__main__ import main as analysis
from launch.__main__ import main
from launch.command import run_command
from launch.packs.leases import Leases
from launch.packs.owner import Owner
from launch.work.worker import work
from plasticity_lab.records.checkpoint import latest_epoch, load_checkpoint, save_checkpoint
from plasticity_lab.records.store import Store
from tests.helpers.old_files import flat, plan_in_format, record_in_format_1
from tests.helpers.sweeps import SMOKE, after_looks, all_kept, never, runs_of, said_last, trained

pytestmark = pytest.mark.sample(3)

ENDED = ("seed=0", "launch.workers=1", "save_weights=final")
BEGUN = ("seed=5,6", "launch.workers=1", "save_weights=final")


@pytest.fixture
def old(store):
    """A sweep that has ended and one that was stopped, all of it in old formats → the plan of the latter."""
    (run,) = trained(store, *ENDED).runs
    record_in_format_1(store, run)
    plan = trained(store, *BEGUN, stop=after_looks(4))
    (pack,) = plan.packs
    payload = load_checkpoint(store, pack.id)
    assert payload["journal"]["steps"] > 0
    save_checkpoint(store, pack.id, latest_epoch(store, pack.id), payload | {"journal": flat(payload["journal"])})
    plan_in_format(store, plan, 2)
    return plan


def migrate(store, *words):
    return main(["migrate", "--store", str(store.root), *words])


def files(store):
    """All but the index, which any command may add to."""
    there = (path for path in sorted(store.root.rglob("*")) if store.index_folder not in path.parents)
    return {path: path.read_bytes() for path in there if path.is_file()}


def test_a_store_of_before_is_answered_by_one_sentence_that_names_the_command(store, old, capsys):
    before = files(store)
    for command in (
        lambda: main(["status", "--store", str(store.root)]),
        lambda: main(["show", runs_of(*ENDED)[0].id, "--store", str(store.root)]),
        lambda: analysis(["table", "--store", str(store.root)]),
        lambda: run_command(said_last(*SMOKE, "seed=0,1", f"store={store.root}")),
    ):
        assert command() == 1
        err = capsys.readouterr().err.splitlines()
        assert [line for line in err if f"python -m launch migrate --store {store.root}" in line] == err[-1:]
        assert files(store) == before


def test_a_migrated_store_goes_on_to_the_same_bits_and_says_what_was_done(store, old, tmp_path, capsys):
    before = files(store)
    assert migrate(store, "--dry-run") == 0
    assert "1 record, 1 checkpoint, 1 plan; 1 more is" in capsys.readouterr().out
    assert files(store) == before
    assert migrate(store) == 0
    assert "1 record, 1 checkpoint, 1 plan; 1 more is" in capsys.readouterr().out
    after = files(store)
    assert migrate(store) == 0
    assert "Nothing" in capsys.readouterr().out
    assert files(store) == after
    assert main(["status", "--store", str(store.root)]) == 0
    work(store, old.sweep, "cpu", never)
    undisturbed = Store(tmp_path / "undisturbed")
    trained(undisturbed, *ENDED)
    trained(undisturbed, *BEGUN)
    runs = [*runs_of(*ENDED), *runs_of(*BEGUN)]
    assert all_kept(store, runs) == all_kept(undisturbed, runs)


def test_workers_that_train_are_not_disturbed(store, old, capsys):
    assert Leases(store, 1000, Owner("elsewhere", 1)).claim([old.packs[0].id]) is not None
    before = files(store)
    assert migrate(store) == 1
    assert old.packs[0].id in capsys.readouterr().err
    assert files(store) == before
    assert migrate(store, "--dry-run") == 0
