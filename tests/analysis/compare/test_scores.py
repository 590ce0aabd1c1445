"""Several benchmarks as scores: what is 0 and 1, aggregates, profiles and courses, by hand."""

from functools import partial

import numpy as np
import pytest
import scipy.stats

from analysis.compare.caption import caption
from analysis.compare.comparison import comparison
from analysis.compare.drawing import drawing
from analysis.compare.scores import ANY, ends_of
from analysis.compare.sections import sections
from analysis.frames import metrics_of
from analysis.reported import lines
from analysis.rows import rows, rows_in
from plasticity_lab.agents.ppo.agent import PPO_MEASURES
from plasticity_lab.agents.value.agent import VALUE_MEASURES
from plasticity_lab.environments.atari.games import members
from plasticity_lab.records.measures import Measure
from plasticity_lab.records.store import Store
from tests.helpers.curves import classified
from tests.helpers.packs import choices

DIGITS, MNIST = "Permuted digits", "Permuted MNIST"


@pytest.fixture
def two_benchmarks(seeds, benchmarks):
    """On digits none is at 50 % and snr at 90 and 30; on MNIST at 60, and at 60 and 110 % of it."""
    of = {"digits": {"none": [0.4, 0.6], "snr": [0.9, 0.3]}, "mnist": {"none": [0.6, 0.6], "snr": [0.6, 0.65]}}
    return [
        one
        for name, arms in of.items()
        for arm, values in arms.items()
        for one in seeds("relu", values, intervention=arm, benchmark=benchmarks[name])
    ]


def test_scores_are_0_at_chance_and_1_at_the_best_possible_accuracy(two_benchmarks):
    scores, *single = comparison(rows(two_benchmarks), "intervention").shown
    assert [scores.task, *(each.task for each in single)] == [None, MNIST, DIGITS]
    assert {task: (ends.low, ends.high) for task, ends in scores.ends.items()} == {
        DIGITS: pytest.approx((10, 100)),
        MNIST: pytest.approx((10, 100)),
    }
    # snr: (90 − 10) / 90 = 16 / 18 and 4 / 18 on digits; 10 / 18 and 11 / 18 on MNIST.
    of = {name: found.value for name, found in scores.aggregates["snr"].items()}
    assert of["iqm"] == pytest.approx(21 / 36), "the middle two of 4, 10, 11 and 16 eighteenths"
    assert of["mean"] == of["median"] == pytest.approx(41 / 72)
    assert of["optimality gap"] == pytest.approx(31 / 72)


def test_the_tests_of_scores_are_by_benchmark(two_benchmarks):
    """By hand, in eighteenths, of differences at the same seeds: 10 and −6 on digits, 0 and 1 on MNIST."""
    scores, *_ = comparison(rows(two_benchmarks), "intervention").shown
    pair = scores.against("snr")
    assert pair.difference.value == pytest.approx(1.25 / 18)
    variance = (np.var([16, 4], ddof=1) + np.var([6, 10], ddof=1) + np.var([10, 11], ddof=1)) / 2 / 4 / 18**2
    assert pair.test.t == pytest.approx(1.25 / 18 / variance**0.5)
    half = scipy.stats.t.ppf(0.975, pair.test.df) * variance**0.5
    assert pair.difference.ends == pytest.approx((1.25 / 18 - half, 1.25 / 18 + half)), "the interval of the test"
    assert pair.test.p == pytest.approx(2 * scipy.stats.t.sf(abs(pair.test.t), pair.test.df))
    paired = (np.var([10, -6], ddof=1) + np.var([0, 1], ddof=1)) / 2 / 4 / 18**2
    assert pair.paired.difference == pytest.approx(1.25 / 18)
    assert pair.paired.t == pytest.approx(1.25 / 18 / paired**0.5)
    assert pair.paired.n == 4
    # Digits: 16 beats both of 6 and 10, 4 none: a half. MNIST: 10 ties with both, 11 beats both: three quarters.
    assert pair.better.value == pytest.approx((1 / 2 + 3 / 4) / 2)


@pytest.mark.parametrize("against", [None, "best", "none", "snr"])
def test_scores_do_not_depend_on_the_reference(two_benchmarks, against):
    """A metric without ends in the file: the worst run and the best. Smaller gaps are better."""
    gaps = [one | {"summary": {**one["summary"], "gap": one["summary"]["taoa"]}} for one in two_benchmarks]
    scores, *_ = comparison(rows(gaps), "intervention", against=against, metric="gap").shown
    ends = scores.ends[DIGITS]
    assert sorted((ends.low, ends.high)) == pytest.approx([30, 90])
    assert {ends.low_is, ends.high_is} == {"the worst run", "the best run"}
    assert all(found["iqm"].value is not None for found in scores.aggregates.values())


@pytest.mark.parametrize("seed", range(20))
def test_arms_that_do_not_differ_have_scores_too(seeds, benchmarks, seed):
    draw = np.random.default_rng(seed)
    runs = [
        one | {"summary": {**one["summary"], "gap": value}}
        for name in benchmarks
        for arm in ("none", "snr", "l2")
        for value, one in zip(
            draw.normal(size=3), seeds("relu", [0.5] * 3, intervention=arm, benchmark=benchmarks[name]), strict=True
        )
    ]
    scores, *_ = comparison(rows(runs), "intervention", against="none", metric="gap").shown
    assert len(scores.ends) == len(benchmarks)
    assert scores.against("snr").test.p is not None


def test_an_arm_that_lacks_a_benchmark_has_no_score_and_a_reason(two_benchmarks, seeds):
    found = comparison(rows([*two_benchmarks, *seeds("relu", [0.5, 0.6], intervention="ewc")]), "intervention")
    scores = found.shown[0]
    assert scores.aggregates["ewc"]["iqm"].value is None
    words = "\n".join(caption(scores, []))
    assert f"No runs on {MNIST}: ewc" in words
    assert "1 of 2 tasks have no run" in words


def test_arms_at_chance_have_the_score_0(two_benchmarks):
    low = [one | {"summary": {**one["summary"], "taoa": 0.1}} for one in two_benchmarks]
    scores, *_ = comparison(rows(low), "intervention").shown
    assert scores.aggregates["none"]["iqm"].value == pytest.approx(0)


def test_random_actions_and_a_reference_are_data_of_the_benchmark(seeds):
    """Ten balls at chance: two are caught and eight are not, −6; a reference of ten."""
    catch = {"name": "catch", "balls": 10}
    runs = [
        one | {"measures": PPO_MEASURES.as_json(), "summary": {"final_return": 2.0 + (arm == "snr")}}
        for benchmark in (catch, {"name": "catch_84", "balls": 5})
        for arm in ("none", "snr")
        for one in seeds("relu", [0, 0], intervention=arm, benchmark=benchmark)
    ]
    scores, *_ = comparison(rows(runs), "intervention", metric="final_return").shown
    assert (scores.ends["catch"].low, scores.ends["catch"].high) == (-6, 10)
    assert scores.ends["catch"].score([2.0]) == pytest.approx(0.5)
    assert (scores.ends["catch_84"].low, scores.ends["catch_84"].high) == (2, 3), "five balls are another game"


@pytest.mark.parametrize(
    ("changed", "low"),
    [({}, 0.404), ({"game": "invaders"}, 3.87), ({"sticky": 0.0}, None), ({"ramping": False}, None)],
)
def test_ends_that_were_measured_are_of_runs_with_all_the_settings_of_that_measurement(seeds, changed, low):
    game = {"name": "games", "game": "bricks", "sticky": 0.1, "ramping": True, **changed}
    runs = [
        one | {"measures": PPO_MEASURES.as_json(), "summary": {"final_return": value}}
        for arm, value in (("none", 5.0), ("snr", 6.0))
        for one in seeds("relu", [0, 0], intervention=arm, benchmark=game)
    ]
    (section,), _ = sections(rows(runs), "intervention")
    ((task, _),) = section.strata.items()
    shown = next(each for each in PPO_MEASURES.summaries if each.name == "final_return")
    found = ends_of(section, task, shown, [6.0, 5.0])
    assert found.low == (5.0 if low is None else low)
    assert (found.low_is == "random actions") == (low is not None)


def test_ends_are_of_benchmarks_that_there_are():
    of = [(name, line["of"], line["where"]) for line in lines("score_ends.csv") for name in line["benchmark"].split()]
    assert len(of) == len(set(of))
    assert {name for name, _, _ in of} <= {*choices("benchmark"), ANY}


def test_a_share_of_units_is_1_if_no_unit_has_the_property(two_benchmarks):
    share = {"name": "dead_units", "title": "Dead units", "unit": "%", "scale": 100.0, "better": "less"}
    runs = [one | {"summary": {**one["summary"], "dead_units": 0.25}} for one in two_benchmarks]
    (section,), _ = sections(rows(runs), "intervention")
    ends = ends_of(section, DIGITS, Measure(**share), [25.0])
    assert ends.score([25.0, 0.0, 100.0]).tolist() == [0.75, 1.0, 0.0]


def test_means_over_the_60_games_are_over_the_55_that_a_human_has_played(record):
    """By hand: half of what the human is above random play, and all of it."""
    ends = {line["where"].partition("=")[2]: line for line in lines("score_ends.csv") if "atari" in line["benchmark"]}
    records = []
    for game in members("games60"):
        low, high = (float(ends[game][end] or 0) for end in ("low", "high"))
        for agent, part in (("dqn", 0.5), ("rainbow_lite", 1.0)):
            one = record(
                benchmark={"name": "atari", "game": game, "tasks": 1},
                science={"agent": {"name": agent}},
                summary={"return": low + part * (high - low)},
            )
            records.append(one | {"measures": VALUE_MEASURES.as_json()})
    scores, *games = comparison(rows(records), "agent", metric="return").shown
    assert (len(scores.ends), len(scores.left_out), len(games)) == (55, 5, 60)
    for arm, part in (("dqn", 0.5), ("rainbow_lite", 1.0)):
        of = {name: found.value for name, found in scores.aggregates[arm].items()}
        assert of == pytest.approx({"iqm": part, "median": part, "mean": part, "optimality gap": 1 - part})
    said = caption(scores, ())
    assert "Left out of the scores: 5 of 60 benchmarks." in said
    assert any("pooyan" in line and "no human score" in line for line in said), said


@pytest.fixture
def store(tmp_path, record, benchmarks):
    """Two arms on two benchmarks of other lengths: none loses what snr keeps."""
    store = Store(tmp_path / "store")
    for seed in range(3):
        for benchmark, tasks in (("digits", 4), ("mnist", 6)):
            for arm, last in (("none", 0.3), ("snr", 0.7)):
                curve = [0.5 + seed / 100, *[0.5] * (tasks - 2), last + seed / 100]
                classified(store, record(seed=seed, benchmark=benchmarks[benchmark], intervention=arm), curve)
    return store


def test_profiles_and_courses_of_scores(store):
    found, _ = rows_in(store.root)
    compared = comparison(found, "intervention")
    drawn = drawing(compared, partial(metrics_of, [store.root], found), None, compared.shown)
    panels = {(panel.title, panel.x_label): panel for panel in drawn.panels}
    profile = panels["2 benchmarks", "score"]
    for series in profile.series:
        scores = np.concatenate(
            [
                (np.array(arm.cells[task].values) - 10) / (ends.high - 10)
                for arm in compared.shown[0].arms
                if arm.label == series.label
                for task, ends in compared.shown[0].ends.items()
            ]
        )
        assert series.y == pytest.approx([(scores > at).mean() for at in series.x])
    course = panels["2 benchmarks", "part of the training"]
    assert {series.label: len(series.x) for series in course.series} == {"none": 4, "snr": 4}, "as the shorter one"
    lines_of = {series.label: series.y for series in course.series}
    assert lines_of["snr"][-1] > lines_of["none"][-1]
    assert lines_of["snr"][1] == pytest.approx(lines_of["none"][1])
    of_tasks = panels[DIGITS, "task"]
    assert {series.label: series.y[-1] for series in of_tasks.series} == pytest.approx({"none": 31, "snr": 71})
    assert [series.label for series in panels[DIGITS, "TAOA, IQM (%)"].series] == ["none", "snr"]
