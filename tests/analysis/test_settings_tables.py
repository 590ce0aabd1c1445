"""Best settings found by searches, beside the published ones, and the bias of selecting them."""

import csv
import io
import json

import pytest

from analysis.rows import rows
from analysis.statistics.selection import selection_bias
from analysis.tables import TABLES
from analysis.tables.declared.table_best_settings import same
from analysis.tables.render import csv_text, text
from analysis.tables.selection import selections

LUCK = {0.4: [0.50, 0.51, 0.52, 0.53], 0.6: [0.70, 0.40, 0.71, 0.42], 0.8: [0.45, 0.65, 0.44, 0.66]}


@pytest.fixture
def searched(seeds, benchmarks):
    """A search over three slopes on Permuted MNIST, and Tanh at one setting."""
    mnist = {"benchmark": benchmarks["mnist"], "hyperparams": "grid"}
    return [
        *(
            record
            for slope, values in LUCK.items()
            for record in seeds("leaky_relu", values, negative_slope=slope, **mnist)
        ),
        *seeds("tanh", [0.5, 0.6, 0.7, 0.8], **mnist),
    ]


def test_the_best_setting_and_the_bias_of_choosing_it_are_those_of_the_statistics(searched):
    ((found,), _) = selections(rows(searched))
    assert (found.activation, found.own["activation.negative_slope"], found.settings) == ("leaky_relu", 0.6, 3)
    values = [[100 * value for value in LUCK[slope]] for slope in LUCK]
    expected = selection_bias(values, "leaky_relu on permuted_mnist")
    assert found.bias == expected
    assert expected.bias > 1, "chosen on half of the seeds, another half says less"
    assert found.ours.mean == pytest.approx(55.75)


def test_what_was_selected_before_takes_no_part(searched, seeds, benchmarks):
    reported = seeds("leaky_relu", [0.9] * 4, negative_slope=0.9, benchmark=benchmarks["mnist"], hyperparams="selected")
    ((found,), _) = selections(rows([*searched, *reported]))
    assert found.own["activation.negative_slope"] == 0.6


def test_runs_that_a_search_has_stopped_are_left_out_and_counted_and_its_bias_is_said(seeds, benchmarks):
    where = {"benchmark": benchmarks["mnist"], "hyperparams": "search"}
    done = [run for slope, values in LUCK.items() for run in seeds("leaky_relu", values, negative_slope=slope, **where)]
    good = seeds("leaky_relu", [0.9] * 4, negative_slope=0.1, **where)
    stopped = [run | {"status": "stopped", "stopped_at_step": 7} for run in good]
    ((found,), _) = selections(rows([*done, *stopped[:2], *good[2:]]))
    assert (found.own["activation.negative_slope"], found.settings, found.left_out, found.stopped) == (0.6, 3, 1, 2)
    words = text(TABLES["selected"].listings(rows([*done, *stopped])))
    assert "(of 3)" in words
    assert "Left out: 4 runs that a search stopped early." in words
    assert "Its bias can be larger than shown." in words


def test_a_setting_that_diverged_cannot_win_and_searches_of_other_protocols_stay_apart(
    searched, record, seeds, benchmarks
):
    (lost,) = [each for each in searched if each["science"]["activation"].get("negative_slope") == 0.6][:1]
    diverged = [lost | {"status": "diverged", "diverged_at_step": 7}, *(each for each in searched if each is not lost)]
    ((found,), _) = selections(rows(diverged))
    assert found.own["activation.negative_slope"] == 0.8
    assert found.bias.left_out == 1
    clean = [
        record
        for slope in (0.1, 0.2)
        for record in seeds(
            "relu", [slope, slope], negative_slope=slope, protocol="clean", benchmark=benchmarks["mnist"]
        )
    ]
    assert [each.selection["protocol"] for each in selections(rows([*searched, *clean]))[0]] == [
        "as_published",
        "clean",
    ]


def test_table_e2_has_what_was_found_beside_what_is_published(searched):
    (shown,) = TABLES["tableE2"].listings(rows(searched))
    lines = {(line["activation"], line["benchmark"]): line for line in csv.DictReader(io.StringIO(csv_text([shown])))}
    ours = lines["leaky_relu", "permuted_mnist"]
    assert json.loads(ours["settings"]) == {"activation.negative_slope": 0.6, "optimizer.lr": 0.001}
    assert json.loads(ours["paper_settings"]) == {"activation.negative_slope": 0.6, "optimizer.lr": 0.001}
    assert ours["as_published"] == "True"
    assert lines["tanh", "permuted_mnist"]["settings"] == "", "one setting is no choice"
    assert lines["relu", "cifar51"]["missing"].endswith("experiment=tableE2_cifar51")
    words = text([shown])
    assert "**negative_slope=0.6, lr=0.001**" in words
    assert "experiment=tableE2_continual_imagenet" in words
    assert "real MNIST; 500 tasks" in words


def test_settings_that_are_one_function_are_the_published_ones():
    published = {"activation.c": 0.1, "activation.p": 0.3, "optimizer.lr": 0.001}
    assert same({"activation.c": 1, "activation.p": 3, "optimizer.lr": 0.001, "activation.alpha": 0.3}, published)
    assert not same({"activation.c": 1, "activation.p": 4, "optimizer.lr": 0.001}, published)
    assert not same({"activation.c": 1, "activation.p": 3, "optimizer.lr": 0.01}, published)


def test_strengths_of_an_intervention_are_searched_for_table_e9(seeds, benchmarks):
    def search(strength, values):
        science = {"intervention": {"name": "l2_init", "strength": strength}}
        return seeds("relu", values, benchmark=benchmarks["mnist"], hyperparams="best", science=science)

    (shown,) = TABLES["tableE9"].listings(rows([*search(1e-3, [0.5, 0.6]), *search(3e-4, [0.7, 0.8])]))
    line = next(line for line in shown.lines if (line["activation"], line["benchmark"]) == ("relu", "permuted_mnist"))
    assert json.loads(line["settings"])["intervention.strength"] == 3e-4
    assert line["as_published"], "Table E9 has 3e-4 at a rate of 1e-3"


def test_the_table_of_selections_prints_the_bias(searched):
    shown = TABLES["selected"].listings(rows(searched))
    words = text(shown)
    (line,) = csv.DictReader(io.StringIO(csv_text(shown)))
    assert "negative_slope=0.6 (of 3)" in words
    assert "Selection bias, mean over 1 selections: +" in words
    assert "as_published" in words
    assert float(line["bias"]) == pytest.approx(float(line["mean"]) - float(line["honest"]))
    assert (line["seeds"], line["splits"], line["settings"]) == ("4", "6", "3")
