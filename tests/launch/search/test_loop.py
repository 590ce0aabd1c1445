"""A search from its first batch to its last; what stands for the launcher leaves records, and trains nothing."""

import json
from contextlib import suppress
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import pytest

from launch.launchers.finished import SweepFailed
from launch.launchers.slurm.submit_once import SweepCancelled
from launch.packs.submissions import add_cancellation
from launch.search.loop import Searcher
from plasticity_lab.errors import ConfigError
from plasticity_lab.process.exits import command_begins
from plasticity_lab.records.damage import DamagedFile
from plasticity_lab.records.plan import sweep_of
from plasticity_lab.records.searches.batches import batches_of
from plasticity_lab.records.store import Store
from tests.helpers.searches import Trained, leave, search
from tests.helpers.sweeps import said_last

pytestmark = pytest.mark.sample(3)

WORDS = ("optimizer.lr=tag(log,interval(1e-5,1e-1))", "seed=0,1", "hyperparams.trials=16", "hyperparams.batch=4")


def value(run):
    return 0.5 - abs(run.science["optimizer"]["lr"] - 0.01)


def searched(store, train, *words, width=8):
    """Goes on with a search until it ends, or is interrupted."""
    found = search(*said_last(*WORDS, f"store={store.root}", *words))
    Searcher(found, train, lambda run, settings: width).run()
    return found


def trials(store, found):
    return [batch.trials for batch in batches_of(store, found.id)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An undisturbed search: its id, store and launcher."""
    store, train = Store(tmp_path_factory.mktemp("whole") / "store"), Trained(value)
    return SimpleNamespace(id=searched(store, train).id, store=store, train=train)


def test_a_killed_search_has_the_same_trials_as_one_that_was_not(store, whole):
    assert [len(batch) for batch in whole.train.batches] == [8, 8, 8, 8]
    parts = []
    for most in (0, 1, 1, 0, 2):
        parts.append(Trained(value, most))
        with suppress(KeyboardInterrupt):
            searched(store, parts[-1])
    assert [batch for part in parts for batch in part.batches] == whole.train.batches
    folders = [each.search_folder(whole.id) for each in (store, whole.store)]
    killed, undisturbed = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert killed == undisturbed
    assert sorted(killed) == [f"batch-000{number}.json" for number in range(4)]


def test_a_search_that_has_ended_trains_nothing_and_more_trials_go_on_with_it(store, capsys):
    found = searched(store, Trained(value))
    before, again = trials(store, found), Trained(value)
    searched(store, again)
    assert again.batches == []
    assert "the best of 16 trials has TAOA" in capsys.readouterr().err
    searched(store, again, "hyperparams.trials=19")
    assert [len(batch) for batch in again.batches] == [6]
    assert trials(store, found)[:4] == before


def test_as_many_are_trained_at_once_as_a_pack_is_wide_and_not_all_at_once(store, tmp_path):
    for width, trials_wide in ((4, 2), (100, 4), (1, 1)):
        train = Trained(value)
        searched(Store(tmp_path / str(width)), train, "hyperparams.batch=null", width=width)
        assert {len(batch) for batch in train.batches} == {2 * trials_wide}


def test_failed_runs_say_nothing_of_their_values_and_a_batch_of_them_ends_the_search(store, tmp_path, capsys):
    def some(runs, settings):
        for run in runs[1:]:
            leave(settings.store, run, value(run))
        leave(settings.store, runs[0], None, status="failed", error="lost")
        raise SweepFailed("Of 8 runs 1 failed: lost.")

    searched(store, some)
    err = capsys.readouterr().err
    assert "The search goes on without 1 failed run." in err
    assert "of 16 trials (4 failed)" in err

    def all_of_them(runs, settings):
        for run in runs:
            leave(settings.store, run, None, status="failed", error="lost")
        raise SweepFailed("Of 8 runs 8 failed: lost.")

    with pytest.raises(SweepFailed):
        searched(Store(tmp_path / "failing"), all_of_them)


def test_values_that_a_component_refuses_are_passed_over(store, capsys):
    words = ("activation=rrelu", "activation.lower=interval(0.1,0.6)", "activation.upper=interval(0.1,0.6)")
    train = Trained(lambda run: run.science["activation"]["upper"])
    found = searched(store, train, *words)
    refused = [trial for batch in trials(store, found) for trial in batch if trial.refused]
    assert refused
    assert all(trial.values["activation.lower"] > trial.values["activation.upper"] for trial in refused)
    assert capsys.readouterr().err.count("Not tried: ") == len(refused)
    assert sum(len(batch) for batch in train.batches) == 2 * (16 - len(refused))


def test_a_dry_run_shows_the_batch_that_would_come_and_writes_nothing(store, whole):
    shown = []
    searched(store, lambda runs, settings: shown.append([run.id for run in runs]), "dry_run=true")
    assert not store.root.exists()
    assert shown == whole.train.batches[:1]


def test_batches_that_are_damaged_or_of_other_code_are_named(store):
    found = searched(store, Trained(value))
    path = store.batch(found.id, 1)
    content = json.loads(path.read_text())
    path.write_text(json.dumps({key: of for key, of in content.items() if key != "width"}))
    with pytest.raises(DamagedFile, match="lacks width"):
        searched(store, Trained(value))
    content["trials"][0]["runs"][0] = "0" * 12
    path.write_text(json.dumps(content))
    with pytest.raises(ConfigError, match=r"optimizer\.lr=.* is another run than when proposed"):
        searched(store, Trained(value))


def test_later_batches_follow_from_what_earlier_ones_came_to(store, whole):
    found = searched(store, Trained(lambda run: run.science["optimizer"]["lr"]))
    mine, theirs = trials(whole.store, found), trials(store, found)
    assert mine[0] == theirs[0]
    assert mine[3] != theirs[3]
    assert all(one != next_one for one, next_one in pairwise(mine))


FINITE = ("optimizer.lr=0.1,0.01", "network.width=int(interval(5,10))", "hyperparams.trials=12", "seed=0")


def test_a_search_of_a_finite_space_tries_each_combination_once_also_when_it_is_killed(store, tmp_path):
    trained, killed = Trained(value), Store(tmp_path / "killed")
    found = Searcher(search(*FINITE, "hyperparams.batch=5", f"store={store.root}"), trained, lambda *_: 8)
    found.run()
    assert [len(batch) for batch in trained.batches] == [5, 5, 2]
    assert len({run for batch in trained.batches for run in batch}) == 12
    for most in (1, 1, 9):
        try:
            words = (*FINITE, "hyperparams.batch=5", f"store={killed.root}")
            Searcher(search(*words), Trained(value, most), lambda *_: 8).run()
        except KeyboardInterrupt:
            pass
    assert trials(killed, found.search) == trials(store, found.search)


def test_values_that_are_one_function_are_one_trial_and_the_search_says_that_it_ends(store, capsys):
    """Smooth-Leaky depends on c / p alone, so 1 / 1 and 2 / 2 are one function."""
    words = ("activation=smooth_leaky", "activation.c=choice(1,2)", "activation.p=choice(1,2)", "hyperparams.trials=4")
    trained = Trained(value)
    found = search(*words, "seed=0", f"store={store.root}")
    Searcher(found, trained, lambda *_: 8).run()
    trained_runs = [run for batch in trained.batches for run in batch]
    assert len(trained_runs) == 3 == len(set(trained_runs)) == sum(map(len, trials(store, found)))
    assert "all 4 combinations" in capsys.readouterr().err


def test_a_repeat_in_an_old_batch_is_not_counted_and_none_is_trained_again(store):
    found = searched(store, Trained(value), "hyperparams.trials=8")
    path = store.batch(found.id, 1)
    content = json.loads(path.read_text())
    content["trials"][3] = content["trials"][0]
    path.write_text(json.dumps(content))
    trained = Trained(value)
    searched(store, trained, "hyperparams.trials=8")
    assert [len(batch) for batch in trained.batches] == [2]
    assert len({tuple(trial.runs) for batch in trials(store, found) for trial in batch}) == 8


def test_two_commands_at_once_make_the_study_of_one(tmp_path, whole):
    """The second one begins while the first trains a batch, and is killed while it trains a later one."""
    for at, further in ((0, 1), (0, 2), (2, 1)):
        both = Store(tmp_path / f"{at}-{further}")
        searched(both, Disturbed(value, at, partial(second, both, further)))
        assert trials(both, whole) == trials(whole.store, whole)


def second(store, further):
    """Another command on the same search, which is gone with a batch in the store that nobody has trained."""
    with suppress(KeyboardInterrupt):
        searched(store, Trained(value, further))


class Disturbed(Trained):
    """A launcher during one of whose batches something happens."""

    def __init__(self, value, at, happens):
        super().__init__(value)
        self.at, self.happens = at, happens

    def __call__(self, runs, settings):
        if len(self.batches) == self.at:
            self.happens()
        super().__call__(runs, settings)


class Cancelled(Trained):
    """A launcher. Its first sweep is cancelled as it ends, when no job of it is left."""

    def __call__(self, runs, settings):
        super().__call__(runs, settings)
        if len(self.batches) == 1:
            add_cancellation(Store(settings.store), sweep_of(runs))


def test_a_cancellation_between_two_batches_holds_until_the_command_is_given_again(store, whole):
    cancelled, again = Cancelled(value), Trained(value)
    with pytest.raises(SweepCancelled):
        searched(store, cancelled)
    command_begins(with_process=False)
    searched(store, again)
    assert cancelled.batches + again.batches == whole.train.batches
    assert trials(store, whole) == trials(whole.store, whole)
