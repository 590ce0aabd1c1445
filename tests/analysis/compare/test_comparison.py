"""Two arms of three seeds, by hand and by SciPy; and what is said where there is no number."""

import csv
import io

import numpy as np
import polars as pl
import pytest
import scipy.stats

from analysis.compare.caption import caption
from analysis.compare.comparison import comparison
from analysis.compare.drawing import drawing
from analysis.compare.listing import arms_table
from analysis.figures.files import as_json, of_file
from analysis.figures.files import csv_text as points
from analysis.figures.static import draw
from analysis.report.plotly_figure import charts
from analysis.rows import rows
from analysis.statistics.method import STUDENT
from analysis.tables.render import text
from plasticity_lab.errors import ConfigError
from tests.helpers.made_up_agent import PLAYER

NONE, INIT, SNR = [0.50, 0.52, 0.54], [0.55, 0.58, 0.58], [0.51, 0.50, 0.57]


@pytest.fixture
def three(seeds):
    """The rows of three interventions on one benchmark."""
    arms = {"none": NONE, "l2_init": INIT, "snr": SNR}
    return rows([one for name, values in arms.items() for one in seeds("relu", values, intervention=name)])


def said(found):
    """All sentences of a comparison, in one string."""
    words = [caption(each, found.notes) for each in found.shown]
    return "\n".join(sentence for each in words for sentence in each)


def test_a_pair_is_what_scipy_and_the_formulas_say(three):
    (found,) = comparison(three, "intervention").shown
    assert (found.reference, [arm.label for arm in found.arms]) == ("none", ["none", "l2_init", "snr"])
    assert "Difference: the mean minus the one of none, in percentage points, with" in said(comparison(three))
    no_metrics = pl.LazyFrame(schema={"run": pl.String, "kind": pl.String, "task": pl.Int64, "step": pl.Int64})
    labels = {panel.x_label for panel in drawing(comparison(three), lambda runs: no_metrics, None, [found]).panels}
    assert labels == {"TAOA, IQM (%)", "TAOA, difference of means to none (percentage points)"}
    pair = found.against("l2_init")
    a, b = 100 * np.array(INIT), 100 * np.array(NONE)
    assert pair.difference.value == pytest.approx(5.0)
    welch = scipy.stats.ttest_ind(a, b, equal_var=False)
    interval = welch.confidence_interval(0.95)
    assert (pair.test.t, pair.test.p) == pytest.approx((welch.statistic, welch.pvalue))
    assert pair.difference.ends == pytest.approx((interval.low, interval.high))
    assert pair.paired.p == pytest.approx(scipy.stats.ttest_rel(a, b).pvalue)
    # Pooled variance (3 + 4) / 2; Hedges' exact correction of 4 degrees of freedom is Γ(2) / (√2 Γ(1.5)).
    assert pair.effect.g == pytest.approx(5 / 3.5**0.5 * 1 / (2**0.5 * 0.5 * np.pi**0.5))
    assert pair.better.value == 1.0, "55, 58, 58 are all above 50, 52, 54"
    # 51 beats 50; 50 ties with 50; 57 beats all three: 1 + 0.5 + 3 of 9.
    assert found.against("snr").better.value == pytest.approx(4.5 / 9)


def test_arms_that_differ_in_several_settings_are_compared_by_arm(seeds):
    """The head is neutral where records have none; its own settings are named where heads differ in them."""
    heads = {
        "flatten hidden=1": {"network": {"name": "n", "hidden": 1}},
        "flatten hidden=4": {"network": {"name": "n", "hidden": 4}},
        "softmoe experts=2 hidden=1": {
            "network": {"name": "n", "hidden": 1}, "head": {"name": "softmoe", "experts": 2, "router": "normal"},
        },
        "softmoe experts=4 hidden=1": {
            "network": {"name": "n", "hidden": 1}, "head": {"name": "softmoe", "experts": 4, "router": "normal"},
        },
    }  # fmt: skip
    found = rows([one for own in heads.values() for one in seeds("relu", NONE, science=own)])
    (by_arm,) = comparison(found, "arm").shown
    assert [arm.label for arm in by_arm.arms] == list(heads)
    assert all(arm.n == 3 for arm in by_arm.arms)
    with pytest.raises(ConfigError, match=r"head, network\.hidden.*--by head.*--by arm"):
        comparison(found, None)
    (by_head,) = comparison([row for row in found if row.study["network.hidden"] == 1], "head").shown
    assert [arm.label for arm in by_head.arms] == ["flatten", "softmoe experts=2", "softmoe experts=4"]


def test_holm_counts_the_pairs_that_are_shown(three):
    raw = {}
    for all_pairs in (True, False):
        (found,) = comparison(three, "intervention", pairs=all_pairs).shown
        raw[all_pairs] = {(pair.ours, pair.theirs): (pair.test.p, pair.holm) for pair in found.pairs}
    assert len(raw[True]) == 3
    assert len(raw[False]) == 2
    for pairs in raw.values():
        ordered = sorted(pairs.values())
        stepped = np.maximum.accumulate([p * (len(ordered) - place) for place, (p, _) in enumerate(ordered)])
        assert [holm for _, holm in ordered] == pytest.approx(np.minimum(stepped, 1).tolist())


def test_the_reference_is_none_the_best_or_the_one_that_is_asked_for(three):
    def against(arm):
        return comparison(three, "intervention", against=arm).shown[0].reference

    assert (against(None), against("best"), against("snr")) == ("none", "l2_init", "snr")
    with pytest.raises(ConfigError, match=r"'ewc'.*none, l2_init, snr"):
        against("ewc")


def test_less_is_better_turns_the_best_and_the_probability(seeds):
    runs = [
        one | {"measures": None, "summary": {**one["summary"], "forgetting": value}}
        for name, values in {"none": [0.1, 0.2, 0.3], "snr": [0.4, 0.5, 0.6]}.items()
        for one, value in zip(seeds("relu", values, intervention=name), values, strict=True)
    ]
    (found,) = comparison(rows(runs), "intervention", metric="forgetting", against="best").shown
    assert found.reference == "none"
    assert found.against("snr").better.value == 0.0


def test_arms_are_numbers_by_size_and_what_tells_them_apart_is_in_their_name(seeds):
    slopes = [1.0, 0.01, 0.1]
    runs = [one for slope in slopes for one in seeds("leaky_relu", [0.5, 0.6], negative_slope=slope)]
    found = comparison(rows([*runs, *seeds("relu", [0.5, 0.6])]), "negative_slope")
    assert [arm.label for arm in found.shown[0].arms] == ["0.01", "0.1", "1"]
    assert "2 runs of relu" in found.notes[0]
    by_activation = comparison(rows([*runs, *seeds("relu", [0.5, 0.6])]), "activation")
    labels = [arm.label for arm in by_activation.shown[0].arms]
    assert labels == ["relu", *(f"leaky_relu negative_slope={slope}" for slope in ("0.01", "0.1", "1"))]


def test_the_only_setting_that_differs_is_compared_and_else_the_message_names_them(seeds):
    two = [one for lr in (0.001, 0.01) for one in seeds("relu", [0.5, 0.6], lr=lr)]
    assert comparison(rows(two)).by == "optimizer.lr"
    both = rows([*two, *(one for lr in (0.001, 0.01) for one in seeds("tanh", [0.5, 0.6], lr=lr))])
    for by in (None, "optimiser.lr", "seed"):
        with pytest.raises(ConfigError, match=r"activation, optimizer\.lr"):
            comparison(both, by)
    with pytest.raises(ConfigError, match="nothing but their seeds"):
        comparison(rows(seeds("relu", [0.5, 0.6])))


def test_another_setting_makes_sections_and_one_in_which_all_arms_differ_is_refused(seeds):
    rates = [
        one
        for name in ("none", "snr")
        for lr in (0.001, 0.01)
        for one in seeds("relu", [0.5, 0.6], intervention=name, lr=lr)
    ]
    alone = seeds("relu", [0.5, 0.6], intervention="snr", lr=0.1)
    found = comparison(rows([*rates, *alone]), "intervention")
    assert [each.section.words for each in found.shown] == ["lr=0.001", "lr=0.01"]
    assert any("2 runs of snr alone" in note and "lr=0.1" in note for note in found.notes)
    with pytest.raises(ConfigError, match=r"optimizer\.lr too .*none: 0\.001; snr: 0\.1.*--where optimizer\.lr="):
        comparison(rows([*rates[:2], *alone]), "intervention")


def test_arms_of_different_benchmarks_are_not_compared(seeds, benchmarks):
    none = seeds("relu", [0.5, 0.6])
    snr = seeds("relu", [0.5, 0.6], intervention="snr", benchmark=benchmarks["mnist"])
    with pytest.raises(ConfigError, match="none: permuted_digits; snr: permuted_mnist"):
        comparison(rows([*none, *snr]), "intervention")
    found = comparison(rows([*none, *snr, *seeds("relu", [0.5, 0.6], intervention="ewc")]), "intervention")
    assert [arm.label for arm in found.shown[0].arms] == ["none", "ewc"]
    assert any("2 runs of snr alone on Permuted MNIST" in note for note in found.notes)


def test_runs_that_were_asked_for_under_two_names_are_compared_once(seeds):
    names = [{"protocol": "clean", "schedule": "demo", "hyperparams": name} for name in ("default", "best")]
    runs = [one for name in ("none", "snr") for one in seeds("relu", [0.5, 0.6], intervention=name, asked_as=names)]
    (found,) = comparison(rows(runs), "intervention").shown
    assert [arm.n for arm in found.arms] == [2, 2]
    by_name = comparison(rows(runs), "hyperparams", metric="taoa")
    assert "best and default have 2 runs in common" in said(by_name)


def test_settings_that_were_chosen_for_each_arm_are_no_other_difference(seeds):
    runs = [
        one
        for name, lr in (("none", 0.001), ("snr", 0.01))
        for one in seeds("relu", [0.5, 0.6], intervention=name, lr=lr, hyperparams="best")
    ]
    found = comparison(rows(runs), "intervention")
    assert [arm.n for arm in found.shown[0].arms] == [2, 2]
    assert "none: lr=0.001; snr: lr=0.01" in said(found)


def test_arms_without_enough_runs_have_sentences_and_no_nan(seeds):
    runs = [
        *seeds("relu", [0.5, 0.6, 0.7]),
        *seeds("relu", [0.6], intervention="snr"),
        *seeds("relu", [0.5, 0.5, 0.5], intervention="ewc"),
        *seeds("relu", [0.5, 0.9], intervention="l2", status="diverged"),
        *seeds("relu", [0.4, 0.5], intervention="redo"),
    ]
    found = comparison(rows(runs), "intervention", against="ewc")
    words = said(found)
    (shown,) = found.shown
    assert "nan" not in "\n".join(" ".join(line) for line in arms_table(shown).body)
    assert {arm.label: (arm.n, arm.expected) for arm in shown.arms}["l2"] == (0, 3)
    for part in (
        "one run has no interval",
        "the runs do not differ",
        "l2: 2 of 2 runs diverged",
        "redo: 2",
        "no runs",
    ):
        assert part in words
    assert "nan" not in words
    assert shown.against("redo").paired.n == 2, "the seeds that both have"
    assert shown.against("snr").test.p is None


def test_arms_that_were_not_made_alike_are_named(seeds):
    made = {"none": "eager", "snr": "compiled"}
    runs = [
        one
        for name, mode in made.items()
        for one in seeds("relu", [0.5, 0.6], intervention=name, provenance={"mode": mode, "commit": 40 * mode[0]})
    ]
    words = said(comparison(rows(runs), "intervention"))
    assert "mode: none: eager; snr: compiled" in words
    assert "commit: none: eeeeeeeeeeee; snr: cccccccccccc" in words


def test_agents_that_name_other_metrics_need_one(seeds):
    other = [
        one | {"measures": PLAYER.as_json()}
        for one in seeds("relu", [0.5, 0.6], science={"agent": {"name": "player"}}, summary={"score": 1.0})
    ]
    two = rows([*seeds("relu", [0.5, 0.6]), *other])
    with pytest.raises(ConfigError, match="--metric"):
        comparison(two, "agent")
    assert comparison(two, "agent", metric="seconds").shown[0].reference in ("supervised", "player")


def test_the_interval_of_an_accuracy_stays_within_0_and_100_percent_in_tables_and_figures(seeds, tmp_path):
    """99, 95 and 45.5 %: Student's interval is 79.83 [5.80, 153.86]."""
    arms = {"none": [0.99, 0.95, 0.455], "snr": [0.51, 0.50, 0.57]}
    found = comparison(
        rows([one for name, values in arms.items() for one in seeds("relu", values, intervention=name)]), "intervention"
    )
    (compared,) = found.shown
    assert {name: of.ends for name, of in compared.aggregates["none"].items()} == {
        name: pytest.approx((3.8337, 99.7463), abs=1e-3) for name in ("iqm", "mean")
    }
    assert compared.aggregates["snr"]["iqm"].method == STUDENT
    assert "79.83 [3.83, 99.75]" in text([arms_table(compared)])
    assert "on the logit scale" in said(found)
    no_metrics = pl.LazyFrame(schema={"run": pl.String, "kind": pl.String, "task": pl.Int64, "step": pl.Int64})
    drawn = drawing(found, lambda runs: no_metrics, None, [compared])
    dots = {series.label: series for series in drawn.panels[0].series}
    assert dots["none"].x_ends == [compared.aggregates["none"]["iqm"].ends]
    assert dots["snr"].x_ends == [pytest.approx(compared.aggregates["snr"]["iqm"].ends)]
    (file := tmp_path / "figure.json").write_text(as_json(drawn))
    assert as_json(of_file(file)) == as_json(drawn)
    (line,) = (line for line in csv.DictReader(io.StringIO(points(drawn))) if line["x_low"])
    assert (float(line["x_low"]), float(line["x_high"])) == dots["none"].x_ends[0]
    bars = next(trace["error_x"] for trace in charts(drawn)[0]["data"] if trace["name"] == "none")
    (mean, (low, high)) = dots["none"].x[0], dots["none"].x_ends[0]
    assert (bars["arrayminus"], bars["array"]) == ([pytest.approx(mean - low)], [pytest.approx(high - mean)])
    (segment,) = draw(drawn).axes[0].containers[0].lines[2][0].get_segments()
    assert segment[:, 0] == pytest.approx([low, high])
    runs = {
        cell.runs[at]: 0.01 * value
        for cell in (compared.arms[0].cells[compared.task],)
        for at, value in enumerate(cell.values)
    }
    tasks = [{"run": run, "kind": "task", "task": 0, "step": 9, "body": 0, "aoa": value} for run, value in runs.items()]
    course = drawing(found, lambda _: pl.DataFrame(tasks).lazy(), "aoa", [compared]).panels[-1].series[0]
    assert course.y_range == [pytest.approx((low, high))]
