"""What the report is made of; how it looks and works, test_browser.py says."""

import base64
import gzip
import json
import re
import sys
from functools import partial

import pytest

from analysis.__main__ import main
from analysis.frames import metrics_of
from analysis.report import films, runs
from analysis.report.command import gathered
from analysis.report.interventions import compared
from analysis.report.report import overview, packed, table_pages
from analysis.report.runs import coded, rounded, runs_payload
from analysis.report.sections import sections
from analysis.rows import rows, rows_in
from plasticity_lab.records.record import write_record
from plasticity_lab.records.store import Store
from tests.helpers.curves import classified, played
from tests.helpers.stores import planned_records


@pytest.fixture
def store(tmp_path, record):
    """Two classifiers of forty tasks and a player."""
    store = Store(tmp_path / "store")
    for seed in range(2):
        classified(store, record("relu", seed=seed), [0.5, *[0.4] * 39])
    played(store, record("tanh", science={"agent": {"name": "player"}}), 0)
    return store


def page(store, capsys, *words):
    """The page of a store, and what is in it."""
    assert main(["report", "--store", str(store.root), *words]) == 0
    path = store.root / "report.html"
    assert str(path) in capsys.readouterr().out
    content = path.read_text()
    data = re.search(r'<script type="text/plain" id="data">([^<]*)</script>', content)[1]
    return content, json.loads(gzip.decompress(base64.b64decode(data)))


def test_the_page_needs_nothing_from_elsewhere(store, capsys):
    content, data = page(store, capsys)
    ours = re.sub(r"<script>.*?</script>|<style>.*?</style>", "", content, flags=re.DOTALL)
    assert not re.search(r'(src|href)="(?!#|data:)', ours)
    assert len(data["runs"]["words"]) == 3
    assert len(data["charts"]) == content.count("data-chart=")


def test_what_is_gathered_is_what_the_files_hold(store, tmp_path):
    found, _ = rows_in(store.root)
    read = partial(metrics_of, [store.root], found)
    runs = [row.run for row in found]
    assert len(runs) == 3
    for folder in (tmp_path, tmp_path / "there is no such folder"):
        together = gathered(found, read, folder)
        for named in ([], runs[:1], runs[1:], runs):
            ours, theirs = (of(named).collect() for of in (together, read))
            assert set(ours.columns) == set(theirs.columns)
            order = ["run", "kind", "task", "epoch", "step"]
            assert ours.select(theirs.columns).sort(order).equals(theirs.sort(order))
    assert len([*tmp_path.glob("*.parquet")]) == 2


def test_a_store_that_is_still_running_has_a_report(tmp_path, record, capsys):
    store = Store(tmp_path)
    waiting = [record("relu"), record("tanh")]
    planned_records(store, waiting, waiting)
    content, data = page(store, capsys)
    assert "2 runs wait" in content
    assert 'id="figures"' not in content
    assert len(data["runs"]["words"]) == 2
    classified(store, waiting[0], [0.5, 0.4])
    content, _ = page(store, capsys)
    assert "1 runs wait" in content
    assert 'id="figures"' in content


@pytest.mark.parametrize("library", ["plotly.offline", "itables", "jinja2"])
def test_without_a_library_one_sentence_says_what_to_install(store, library, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, library, None)
    assert main(["report", "--store", str(store.root)]) == 1
    err = capsys.readouterr().err
    assert ".[report]" in err
    assert len(err.splitlines()) == 1


def test_what_cannot_be_read_is_told_in_the_page_too(store, record, capsys):
    torn = record("gelu")
    write_record(store, torn)
    store.record(torn["run"]).write_text("{")
    content, _ = page(store, capsys)
    assert f"Left out: {store.record(torn['run'])}" in content


def test_the_overview_says_what_runs_share_and_in_what_they_differ(record, benchmarks):
    made = {"commit": "a" * 40, "device": "cpu", "mode": "eager"}
    recorded = [
        record("relu", provenance=made),
        record("tanh", provenance=made, collapsed=True),
        record("relu", provenance={**made, "commit": "b" * 40}, benchmark=benchmarks["mnist"], status="diverged"),
    ]
    seen = overview(rows(recorded))
    assert seen["counts"] == {"done": 2, "diverged": 1, "collapsed": 1}
    assert seen["shared"]["device"] == "cpu"
    assert [(group["benchmark"], group["commit"], group["done"], group["diverged"]) for group in seen["groups"]] == [
        ("Permuted MNIST", "b" * 10, 0, 1),
        ("Permuted digits", "a" * 10, 2, 0),
    ]


def test_columns_are_what_runs_with_the_same_choice_differ_in(record):
    found = rows([record("leaky_relu", negative_slope=slope) for slope in (0.1, 0.3)] + [record("swish", beta=1.0)])
    titles = [column["title"] for column in runs_payload(found)["columns"]]
    assert "activation.negative_slope" in titles
    assert not {"activation.beta", "optimizer.lr", "protocol"} & {*titles}


def test_curves_have_fewer_points_where_there_are_very_many_runs(store, monkeypatch):
    found, _ = rows_in(store.root)
    metrics = partial(metrics_of, [store.root], found)

    def most(payload):
        return max(len(line[1]) for panel in payload["panels"] for lines in panel["lines"].values() for line in lines)

    payload = runs.curves_payload(found, metrics)
    assert (payload["points"], most(payload)) == (50, 40), "one for each task"
    monkeypatch.setattr(runs, "NUMBERS", 200)
    payload = runs.curves_payload(found, metrics)
    assert (payload["points"], most(payload)) == (20, 20)


def test_a_section_has_its_own_runs_and_beside_their_curves_what_else_they_measured(store):
    found, _ = rows_in(store.root)
    metrics = partial(metrics_of, [store.root], found)
    player, classifiers = sections(found, metrics)
    assert [player.title, classifiers.title] == ["player · Permuted digits", "supervised · Permuted digits"]
    titles = [figure.title for figure in classifiers.figures]
    assert titles[titles.index("Learning curves") + 1] == "Further measurements during runs"
    assert any(
        "Final accuracy" in chart["layout"]["title"]["text"] for each in classifiers.figures for chart in each.charts
    )
    alone = sections([row for row in found if row.activation == "relu"], metrics)
    assert [section.title for section in alone] == [""]
    assert [figure.title for figure in alone[0].figures] == titles


def test_interventions_are_compared_with_none_on_every_benchmark(tmp_path, record):
    store = Store(tmp_path / "store")
    # By hand: 50, 52, 54 and 80, 82, 84 have SDs of 2, so t = 30 / √(8 / 3) = 18.4; 51, 53, 54 are hardly more.
    of = {"none": [0.50, 0.52, 0.54], "dash": [0.51, 0.53, 0.54], "l2_init": [0.80, 0.82, 0.84]}
    for name, values in of.items():
        for seed, value in enumerate(values):
            classified(store, record("relu", seed=seed, intervention=name), [value] * 2)
    classified(store, record("tanh", intervention="dash"), [0.5] * 2)
    found, _ = rows_in(store.root)
    metrics = partial(metrics_of, [store.root], found)
    made = compared(found)
    first, *others = table_pages(found, metrics, made)
    words = [[cell["words"] for cell in line] for line in first["body"]]
    assert [[line[0], line[5], line[-1]] for line in words] == [
        ["none", "52.00 ± 2.00", "reference"],
        ["l2_init", "82.00 ± 2.00", "better"],
        ["dash", "52.67 ± 1.53", "not significantly different"],
    ]
    assert words[1][7].startswith("+30.00 [")
    assert any("1 runs of dash alone" in sentence for sentence in first["caption"])
    # Tables of one line repeat the comparison, except for the plain arm's and the run that has no partner.
    assert [len(each["body"]) for each in others if "Online" in each["title"]] == [1, 2]
    assert sections(found, metrics, made)[0].figures[0].title == "Interventions compared"
    assert compared([row for row in found if row.intervention == "dash"]) is None


def test_films_are_inside_the_page_up_to_a_size(store, capsys, monkeypatch):
    (player,) = [row.run for row in rows_in(store.root)[0] if row.study.get("agent.name") == "player"]
    store.film(player).write_bytes(b"GIF89a")
    _, data = page(store, capsys)
    (at,) = [at for at, film in data["films"].items() if base64.b64decode(film) == b"GIF89a"]
    ids = data["runs"]["columns"][0]
    assert ids["values"][ids["codes"][int(at)]] == player
    monkeypatch.setattr(films, "MOST", 5)
    content, data = page(store, capsys)
    assert data["films"] == {}
    assert "1 films" in content


def test_data_comes_back_as_it_was_packed():
    content = {"a": [1, None, "</script>", 0.25]}
    assert json.loads(gzip.decompress(base64.b64decode(packed(content)))) == content
    assert "<" not in packed(content)
    assert coded(["b", 1, 1.0, True, None, ["b"], "b"]) == {
        "values": ["b", 1, 1.0, True, None, ["b"]],
        "codes": [0, 1, 2, 3, 4, 5, 0],
    }
    assert rounded([1 / 3, 2.0, 460123456789.0, float("nan"), float("inf"), None], 5) == [
        0.33333, 2, 460120000000, None, None, None,
    ]  # fmt: skip
