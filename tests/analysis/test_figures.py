"""Figures, from what is asked for to the files: every one on every sort of store."""

import csv
import io
from functools import partial

import polars as pl
import pytest

from analysis.__main__ import main
from analysis.figures.courses import binned, extents, over_runs
from analysis.figures.curve import draw_curve, panels_of
from analysis.figures.drawing import Asked
from analysis.figures.files import csv_text
from analysis.figures.named import FIGURES
from analysis.figures.shocks import FIGURES as OF_SHOCKS
from analysis.figures.two_orders import two_orders
from analysis.frames import metrics_of
from analysis.rows import rows, rows_in
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.record import write_record
from plasticity_lab.records.store import Store
from tests.helpers.curves import CYCLE, bodies_in_turn, classified, on_every_task, played
from tests.helpers.made_up_agent import PLAYER, rollouts
from tests.helpers.stores import planned_records

ENDINGS = {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG", "csv": b"figure,panel,series", "json": b"{"}
OF_RUNS_OF_THEIR_OWN = {
    "early_warning", "atari", "figure1", "figureC1", "figureC2", "figureC3", "figure4", *OF_SHOCKS,
}  # fmt: skip
"""Figures of runs with more tasks, diagnostics, shocks or games than those here: their own tests draw them."""


@pytest.fixture
def store(tmp_path, record):
    """ReLU loses what Tanh keeps in ten tasks, three seeds each."""
    store = Store(tmp_path / "store")
    for seed in range(3):
        classified(store, record("relu", seed=seed), [0.6 + seed / 100, *[0.5] * 8, 0.3])
        classified(store, record("tanh", seed=seed), [0.5 + seed / 100, *[0.5] * 8, 0.6])
    return store


@pytest.fixture
def two_rates(store, record):
    """The same, and three seeds of each at another learning rate."""
    for seed in range(3):
        for name in ("relu", "tanh"):
            classified(store, record(name, seed=seed, lr=1e-4), [0.4, 0.4])
    return store


def drawing_of(store, name, **asked):
    """A figure of all runs of a store, before anybody draws it."""
    found, _ = rows_in(store.root)
    return FIGURES[name](Asked(found, partial(metrics_of, [store.root], found), **asked))


def drawn(store, name, **asked):
    """The lines of a figure's CSV."""
    return list(csv.DictReader(io.StringIO(csv_text(drawing_of(store, name, **asked)))))


@pytest.mark.walk(1)
@pytest.mark.parametrize("name", sorted(FIGURES.keys() - OF_RUNS_OF_THEIR_OWN))
def test_a_figure_is_written_in_three_forms_with_its_numbers(two_rates, in_both_orders, record, name, capsys):
    for each in in_both_orders:
        write_record(two_rates, each)
    for seed in range(3):
        one = record(seed=seed, benchmark=CYCLE)
        bodies_in_turn(two_rates, one, [([seed, 2 * seed, -seed, 4 - seed], [0, 2, 3, seed])] * 2)
    split = {"name": "split_digits", "source": "digits", "tasks": 2, "batch_size": 32}
    on_every_task(two_rates, record(benchmark=split), [[0.9, 0.2], [0.4, 0.8]], forward=True)
    by = ["--by", "optimizer.lr"] if name == "sensitivity" else []
    assert main(["figure", name, *by, "--store", str(two_rates.root)]) == 0
    said = capsys.readouterr().out
    for ending, beginning in ENDINGS.items():
        assert (two_rates.root / "figures" / f"{name}.{ending}").read_bytes().startswith(beginning)
        assert ending in said


def test_curves_are_means_over_seeds_by_task(store):
    lines = drawn(store, "curves")
    assert {line["series"] for line in lines} == {"ReLU", "Tanh"}
    relu = [line for line in lines if line["activation"] == "relu"]
    assert [float(line["x"]) for line in relu] == [*range(1, 11)]
    assert [float(line["y"]) for line in relu] == pytest.approx([61, *[50] * 8, 30])
    assert [float(line["y_sd"]) for line in relu] == pytest.approx([1, *[0] * 9])
    assert {line["n"] for line in lines} == {"3"}
    assert len(relu[0]["runs"].split()) == 3
    assert (relu[0]["x_is"], relu[0]["y_is"]) == ("task", "Online accuracy (%)")
    finals = drawn(store, "curves", metric="final_accuracy")
    assert float(next(line["y"] for line in finals if line["series"] == "ReLU")) == pytest.approx(81)


def test_curves_of_episodes_are_returns_over_steps(tmp_path, record):
    store = Store(tmp_path)
    for seed in range(2):
        played(store, record(seed=seed, science={"agent": {"name": "player"}}), seed)
    lines = drawn(store, "curves")
    assert (lines[0]["x_is"], lines[0]["y_is"]) == ("steps of the run", "Return (points)")
    assert 20 < len(lines) <= 50
    places = [float(line["x"]) for line in lines]
    assert places == sorted(places)
    # An episode of the made-up agent is worth half the step at which it ends.
    wide = places[1] - places[0]
    assert all(abs(float(line["y"]) - place / 2) < wide / 4 for line, place in zip(lines, places, strict=True))


def test_a_body_has_a_panel_of_its_own_and_its_line_breaks_where_another_was_learned():
    episodes = {"run": ["a"] * 6, "kind": ["episode"] * 6, "task": [0, 0, 1, 1, 2, 2], "step": [5, 10, 15, 20, 25, 30]}
    episodes |= {"body": [0, 0, 1, 1, 0, 0], "return": [1.0, 2.0, 30.0, 40.0, 5.0, float("nan")]}
    metrics = pl.LazyFrame(episodes)
    bins, whole = binned(metrics, PLAYER.columns[0], extents(metrics), points=6)
    means = over_runs(bins, pl.DataFrame({"run": ["a"], "line": [0]}), whole)
    courses = {body: points["value"].to_list() for (body,), points in means.group_by("body", maintain_order=True)}
    assert courses[1] == [30, 40]
    assert str(courses[0]) == "[1.0, 2.0, nan, 5.0]"


def test_few_tasks_are_drawn_by_their_epochs():
    rows = {"run": ["a"] * 22, "kind": ["epoch"] * 20 + ["task"] * 2, "task": [0] * 10 + [1] * 10 + [0, 1]}
    rows |= {"step": [*range(10, 210, 10), 100, 200], "aoa": [0.5] * 22, "hard": [True] * 22}
    metrics = pl.LazyFrame(rows)
    bins, whole = binned(metrics, CLASSIFIER.columns[0], extents(metrics))
    assert (len(bins), whole) == (20, False)


def test_figure_e1_sorts_activations_and_shows_the_paper_where_it_reports(tmp_path, seeds, benchmarks):
    store = Store(tmp_path)
    for name, value in (("relu", 0.7), ("tanh", 0.6), ("gelu", 0.8)):
        for each in seeds(name, [value, value + 0.02], benchmark=benchmarks["mnist"], schedule="full"):
            write_record(store, each)
    lines = drawn(store, "figureE1")
    ours = [line for line in lines if line["series"].startswith("ours")]
    assert [line["y"] for line in ours] == ["GeLU", "ReLU", "Tanh"], "the best first"
    assert [float(line["x"]) for line in ours] == pytest.approx([81, 71, 61])
    paper = {line["y"]: line["x"] for line in lines if not line["series"].startswith("ours")}
    assert paper["ReLU"] == "78.85"


def test_first_and_last_tasks(store):
    lines = drawn(store, "first_last")
    values = {(line["series"], line["y"]): float(line["x"]) for line in lines if line["series"].startswith("the")}
    assert values["the first tasks", "ReLU"] == pytest.approx(61)
    assert values["the last tasks", "ReLU"] == pytest.approx(30)
    assert [line["y"] for line in lines if line["series"] == "the last tasks"] == ["Tanh", "ReLU"], (
        "the best kept first"
    )


def test_sensitivity_to_a_setting(two_rates):
    lines = drawn(two_rates, "sensitivity", by="optimizer.lr")
    relu = [line for line in lines if line["series"] == "ReLU"]
    assert [(float(line["x"]), line["n"], line["x_is"]) for line in relu] == [
        (1e-4, "3", "optimizer.lr"),
        (1e-3, "3", "optimizer.lr"),
    ]


def test_sensitivity_to_a_setting_of_words_that_is_not_the_activations(tmp_path, record):
    store = Store(tmp_path)
    for init in ("default", "kaiming"):
        for seed in range(2):
            network = {"name": "mlp", "hidden": 100, "init": init}
            classified(store, record(seed=seed, science={"network": network}), [0.5, 0.4])
    lines = drawn(store, "sensitivity")
    assert [line["x"] for line in lines] == ["default", "kaiming"], "the only setting in which runs differ"


@pytest.fixture
def in_both_orders(seeds, benchmarks):
    """ReLU and Tanh in both orders, and Tanh at another learning rate in one."""
    shuffled = {**benchmarks["cifar51"], "order": "shuffle"}
    recorded = []
    for name, online in (("relu", 0.1), ("tanh", 0.5)):
        for benchmark in (benchmarks["cifar51"], shuffled):
            recorded += seeds(name, [online, online + 0.02], benchmark=benchmark)
    recorded += seeds("tanh", [0.9], lr=1e-4, benchmark=shuffled)
    for each in recorded:
        each["summary"]["final_accuracy"] = each["summary"]["taoa"] + 0.2
    return recorded


def test_the_orders_are_joined_for_each_activation_with_the_same_settings(in_both_orders):
    drawing = two_orders(Asked(rows(in_both_orders), lambda runs: None))
    (panel,) = drawing.panels
    lines = {series.label: series for series in panel.series if series.joined}
    assert {name: [*zip(line.x, line.y, strict=True)] for name, line in lines.items()} == {
        "ReLU": [(pytest.approx(11), pytest.approx(31))] * 2,
        "Tanh": [(pytest.approx(51), pytest.approx(71))] * 2,
    }, "the means of two seeds, in percent"
    dots = [series for series in panel.series if not series.listed]
    assert all(dot.x_sd[0] == pytest.approx(2**0.5) for dot in dots)
    assert any("Tanh (lr=0.0001)" in sentence for sentence in drawing.caption), "not shown, but told"


@pytest.mark.parametrize("name", ["curves", "figureE1", "first_last", "sensitivity"])
def test_runs_that_diverged_failed_or_wait_are_counted_in_the_caption(two_rates, record, name):
    store = two_rates
    waiting = record("tanh", seed=3)
    asked = [record("relu", seed=seed) for seed in range(3)] + [record("tanh", seed=seed) for seed in range(3)]
    ended = [record("gelu", status="diverged"), record("relu", seed=4, status="failed")]
    for each in ended:
        write_record(store, each)
    planned_records(store, [*asked, *ended], [waiting])
    said = " ".join(drawing_of(store, name).caption)
    for words in ("1 diverged", "1 failed", "1 not finished", "GeLU on Permuted digits"):
        assert words in said


@pytest.mark.parametrize("name", ["curves", "figureE1"])
def test_data_sources_and_agents_have_panels_of_their_own(store, record, benchmarks, name):
    classified(store, record("relu", benchmark=benchmarks["mnist"]), [0.9, 0.8])
    played(store, record("relu", science={"agent": {"name": "player"}}), 0)
    panels = {(line["panel"], line["y_is"] or line["x_is"]) for line in drawn(store, name)}
    assert len(panels) == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["two_order"], "two_orders"),
        (["two_orders"], "order"),
        (["curves", "--metric", "return"], "aoa, final_accuracy, train_loss"),
        (["sensitivity", "--by", "network.size"], "optimizer.lr"),
        (["sensitivity", "--by", "network.hidden"], "network.hidden"),
    ],
)
def test_what_cannot_be_drawn_is_a_sentence(two_rates, words, said, capsys):
    assert main(["figure", *words, "--store", str(two_rates.root)]) == 1
    assert said in capsys.readouterr().err
    assert not (two_rates.root / "figures").exists()


@pytest.mark.sample(1)
def test_the_curve_of_any_agent_has_a_panel_for_each_unit(tmp_path):
    assert [(label, [column.name for column in columns]) for label, columns in panels_of(PLAYER.declared)] == [
        ("points", ["return", "regret"]),
        ("steps", ["length"]),
        ("nats", ["entropy"]),
    ]
    drawn = {column.name: column.own_kinds[0] for column in (*PLAYER.columns, *CLASSIFIER.columns)}
    assert drawn == {
        **{"return": "episode", "length": "episode", "entropy": "task", "regret": "task"},
        **{"aoa": "task", "final_accuracy": "task", "train_loss": "epoch"},
    }
    draw_curve(tmp_path / "curve.png", rollouts([0, 1]).table(1), PLAYER.declared, "a run", 300)
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_panels_of_one_benchmark_say_in_what_their_runs_differ(two_rates, record):
    for lr in (1e-3, 1e-4):
        classified(two_rates, record("relu", lr=lr, intervention="l2_init"), [0.4, 0.4])
    panels = dict.fromkeys(line["panel"] for line in drawn(two_rates, "sensitivity", by="optimizer.lr"))
    assert list(panels) == ["Permuted digits · none", "Permuted digits · +L2-Init"], "the plain arm first"
    titles = dict.fromkeys(line["panel"] for line in drawn(two_rates, "first_last"))
    assert next(title.rpartition(" ")[2] for title in titles) == "none"
