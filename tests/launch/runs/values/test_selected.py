"""hyperparams=selected: who may be compared, who wins, and on which seeds the winner may be reported."""

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from launch.command import resolve
from launch.runs.values.candidates import Candidate
from launch.runs.values.selected import best
from launch.runs.words import plain, spelled
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.record import read_record, write_record
from plasticity_lab.records.store import Store
from tests.helpers.stores import left_behind

pytestmark = pytest.mark.sample(6)

SWISH = ["activation=swish", "activation.beta=0.1,0.5,1", "optimizer.lr=1e-3,1e-4"]
WANTED = ("activation=swish", "hyperparams=selected")


def peak(at, lr=1e-3):
    """An accuracy that is highest at one β and one learning rate, and a little higher at each further seed."""

    def taoa(science):
        distance = abs(science["activation"]["beta"] - at) + (science["optimizer"]["lr"] != lr)
        return 0.9 - distance / 4 + science["seed"] / 1000

    return taoa


@pytest.fixture
def store(tmp_path):
    left_behind(tmp_path, [*SWISH, "seed=0,1"], peak(0.5))
    return tmp_path


def selected(store, *words):
    return resolve([*WANTED, f"store='{store}'", "seed=100,101", *words])


def settings(found):
    """The distinct settings that were selected."""
    return {(run.science["activation"]["beta"], run.science["optimizer"]["lr"]) for run in found.runs}


def test_the_best_of_the_store_is_run_on_fresh_seeds_and_says_what_selected_it(store):
    found = selected(store)
    assert settings(found) == {(0.5, 1e-3)}
    assert [run.science["seed"] for run in found.runs] == [100, 101]
    winners = resolve(["activation=swish", "activation.beta=0.5", "optimizer.lr=1e-3", "seed=0,1"]).runs
    for run in found.runs:
        (asked,) = run.asked_as
        assert asked["hyperparams"] == "selected"
        assert asked["selected_by"] == {
            "metric": "taoa",
            "mean": pytest.approx(0.9005),
            "settings": 6,
            "seeds": [0, 1],
            "runs": [run.id for run in winners],
        }
        word = f"asked={spelled(run.asked_as)}"
        assert plain(OverridesParser.create().parse_override(word).value()) == run.asked_as
    assert found.notes == ["hyperparams: best by taoa on permuted_digits, seeds 0, 1: swish of 6 settings."]


def test_another_metric_selects_another(store):
    found = selected(store, "hyperparams.metric=final_accuracy")
    assert settings(found) == {(1.0, 1e-4)}, "made the opposite of the other: β = 1 is farthest from 0.5"
    assert found.runs[0].asked_as[0]["selected_by"]["metric"] == "final_accuracy"
    with pytest.raises(ConfigError, match=r"hyperparams\.metric.*'gap'.*agent=supervised.*headline, taoa, taoa_all, "):
        selected(store, "hyperparams.metric=gap")


def test_what_is_typed_is_not_selected(store):
    assert settings(selected(store, "optimizer.lr=1e-4")) == {(0.5, 1e-4)}
    assert settings(selected(store, "activation.beta=1")) == {(1.0, 1e-3)}
    assert settings(selected(store, "activation.beta=0.1,1")) == {(0.1, 1e-3), (1.0, 1e-3)}
    with pytest.raises(ConfigError, match=r"activation\.beta=[0-9.]+ .*7\.0"):
        selected(store, "activation.beta=7")


def test_a_seed_that_took_part_is_refused_and_so_is_a_stream_or_an_init_seed(store):
    for seed, taken in (("0", 0), ("1,100", 1), ("5,1", 1)):
        with pytest.raises(ConfigError) as raised:
            resolve([*WANTED, f"store='{store}'", f"seed={seed}"])
        keys = (f"seed={taken} ", "swish", "permuted_digits", "seeds 0, 1", "seed=2,3,4")
        assert all(key in str(raised.value) for key in keys)
    words = [*WANTED, f"store='{store}'", "seed=9"]
    for key in ("stream_seed", "init_seed"):
        with pytest.raises(ConfigError, match=f"{key}=1 .*swish"):
            resolve([*words, f"{key}=1"])
    assert settings(resolve([*words, "stream_seed=7", "init_seed=8"])) == {(0.5, 1e-3)}


def test_reports_are_no_candidates_so_that_the_same_command_comes_to_the_same_runs(store):
    first = selected(store)
    left_behind(store, [*WANTED, "seed=100,101"], peak(0.5))
    again = selected(store)
    assert [run.id for run in again.runs] == [run.id for run in first.runs]
    assert again.runs[0].asked_as == first.runs[0].asked_as
    left_behind(store, ["activation=swish", "activation.beta=0.5", "seed=100,101"], peak(0.5))
    assert selected(store).runs[0].asked_as == first.runs[0].asked_as, "seeds 100 and 101 compare nothing"


def test_reports_of_the_only_setting_are_no_candidates_either(store):
    words = ["activation.beta=0.5", "optimizer.lr=1e-3"]
    first = selected(store, *words)
    left_behind(store, [*WANTED, *words, "seed=100,101"], peak(0.5))
    assert selected(store, *words).runs == first.runs
    left_behind(store, ["activation=swish", *words, "seed=100,101"], peak(0.5))
    with pytest.raises(ConfigError, match=r"seed=100 .*swish.*permuted_digits \(seeds 0, 1, 100"):
        selected(store, *words)


@pytest.mark.walk(1)
@pytest.mark.parametrize(
    "words",
    [
        ["benchmark.tasks=7"],
        ["benchmark=random_label_digits"],
        ["benchmark=digits51"],
        ["protocol=clean"],
        ["intervention=l2_init"],
        ["network.width=50"],
        ["optimizer.beta1=0.5"],
        ["optimizer.reset=task"],
    ],
)
def test_candidates_share_everything_that_is_not_selected(store, words):
    left_behind(store, [*SWISH, "seed=0,1", *words], lambda science: 0.05 + peak(0.1)(science))
    assert settings(selected(store)) == {(0.5, 1e-3)}
    assert settings(selected(store, *words)) == {(0.1, 1e-3)}


def test_where_there_is_nothing_to_select_from_the_sentence_says_what_there_is(store):
    with pytest.raises(ConfigError) as raised:
        resolve(["activation=swish,tanh,relu", "hyperparams=selected", f"store='{store}'", "seed=9", "schedule=demo"])
    keys = (str(store), "swish on permuted_digits", "benchmark.tasks=100 instead of 20", "tanh, relu on")
    assert all(key in str(raised.value) for key in (*keys, "hyperparams=grid"))
    with pytest.raises(ConfigError):
        selected(store / "nowhere")


def test_a_setting_that_diverged_cannot_win(store):
    left_behind(store, [*SWISH, "seed=0,1"], lambda science: None if science["seed"] else peak(0.5)(science))
    with pytest.raises(ConfigError, match=r"taoa.*6 of 12 runs diverged"):
        selected(store)
    left_behind(store, ["activation=swish", "activation.beta=0.1", "seed=0,1"], peak(0.1))
    assert settings(selected(store)) == {(0.1, 1e-3)}


def test_runs_that_a_search_has_stopped_are_no_candidates_and_are_counted(store):
    for run in resolve([*SWISH, "seed=0,1"]).runs:
        if run.science["activation"]["beta"] == 0.5:
            record = read_record(Store(store), run.id)
            write_record(Store(store), record | {"status": "stopped", "stopped_at_step": 90})
    found = selected(store)
    assert 0.5 not in {beta for beta, _ in settings(found)}
    assert any("were stopped early by a search" in note for note in found.notes)


@pytest.mark.parametrize(
    ("summary", "why"),
    [
        ({"taoa": None}, "12 of 12 runs finished without a value"),
        ({"episodes": 0}, "no episode ended in 12 of 12 runs"),
    ],
)
def test_finished_runs_without_a_value_are_not_told_as_diverged(store, summary, why):
    for run in resolve([*SWISH, "seed=0,1"]).runs:
        record = read_record(Store(store), run.id)
        write_record(Store(store), record | {"summary": summary})
    with pytest.raises(ConfigError, match=why):
        selected(store)


def test_records_that_cannot_be_read_or_have_another_id_now_are_left_out(store):
    stranger, _, torn, *_ = (run.id for run in resolve([*SWISH, "seed=0,1"]).runs)
    record = read_record(Store(store), stranger)
    record["science"]["benchmark"]["knob"] = 1
    write_record(Store(store), record)
    Store(store).record(torn).write_text("{")
    found = selected(store)
    assert len(found.notes) == 2
    assert "is not JSON" in found.notes[0]
    assert found.notes[1].endswith("swish of 4 (2 more lack some of these seeds) settings.")


def candidate(function, seed, taoa):
    summary = {} if taoa is None else {"taoa": taoa}
    return Candidate(f"{function}{seed}", {}, {}, function, (seed, seed, seed), summary, "done")


def made(**scores):
    """function → its accuracies at seeds 0, 1, …; a list of candidates."""
    return [candidate(name, seed, value) for name, values in scores.items() for seed, value in values.items()]


def test_settings_are_compared_on_the_same_seeds_those_that_compare_the_most_runs():
    winner = best(made(a={0: 0.5, 1: 0.5}, b={0: 0.4, 1: 0.7}, lucky={0: 0.9}), "taoa")
    assert (winner.runs[0].function, winner.mean, winner.settings, winner.left_out) == ("b", 0.55, 2, 1)
    assert [run.seeds[0] for run in winner.runs] == [0, 1]
    winner = best(made(a={0: 0.5, 1: 0.0}, b={0: 0.4}, c={0: 0.3}), "taoa")
    assert (winner.runs[0].function, winner.settings, winner.left_out) == ("a", 3, 0)
    assert [run.seeds[0] for run in winner.runs] == [0], "one setting's further seeds compare nothing"


def test_the_order_of_a_store_decides_nothing():
    scores = made(b={0: 0.5}, a={0: 0.5}, c={1: 0.9})
    assert best(scores, "taoa") == best(scores[::-1], "taoa")
    assert best(scores, "taoa").runs[0].function == "a"


def test_where_less_is_better_the_lowest_mean_wins_and_without_values_none_does():
    scores = made(a={0: 0.5, 1: 0.5}, b={0: 0.4, 1: 0.7}, c={0: 0.4, 1: 0.5})
    assert best(scores, "taoa", "less").runs[0].function == "c"
    assert best(scores, "taoa", "more").runs[0].function == "b"
    assert best([], "taoa") is None
    assert best(made(a={0: None}), "taoa") is None
    assert best(made(a={0: 0.5}), "final_accuracy") is None


def test_the_strength_of_an_intervention_is_selected_with_the_rest(tmp_path):
    def taoa(science):
        return 0.5 + (science["intervention"]["strength"] == 3e-4) / 10

    words = ["activation=relu", "intervention=l2_init"]
    left_behind(tmp_path, [*words, "intervention.strength=1e-4,3e-4,1e-3"], taoa)
    (run,) = resolve([*words, "hyperparams=selected", f"store='{tmp_path}'", "seed=5"]).runs
    assert run.science["intervention"]["strength"] == 3e-4
