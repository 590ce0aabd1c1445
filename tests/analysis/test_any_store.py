"""Every table command on stores as people have them: empty, of one run, broken off, of several agents and data."""

import pytest

from analysis.__main__ import main
from analysis.tables import TABLES, named
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.record import write_record
from plasticity_lab.records.store import Store
from tests.helpers.made_up_agent import PLAYER
from tests.helpers.stores import planned_records


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "store")
    store.prepare()
    return store


def played(record, seed=0, **what):
    one = record(seed=seed, science={"agent": {"name": "player"}}, **what)
    one["summary"] = {"mean_return": 10.0 + seed, "regret": 3.0, "parameters": 5, "seconds": 1.0}
    return one | {"measures": PLAYER.as_json(), "flags": {"stuck": seed == 0}}


def asked(store, *words):
    return main(["table", *words, "--store", str(store.root)])


@pytest.fixture
def filled(request, store, record, seeds, benchmarks):
    """A store of one sort."""
    mnist = {"benchmark": benchmarks["mnist"]}
    unfinished = [
        record("relu", 1, status="diverged"),
        record("tanh", 2, status="failed"),
        record("gelu", collapsed=True),
    ]
    waiting = record("selu", 4)
    several = [
        *seeds("relu", [0.5, 0.6]), *seeds("relu", [0.5, 0.6], **mnist), played(record), played(record, 1),
        *seeds("tanh", [0.5], protocol="clean", benchmark=benchmarks["cifar51"]), record(science={"precision": "bf16"}),
        *seeds("tanh", [0.5], intervention="l2_init", **mnist),
    ]  # fmt: skip
    kinds = {
        "one": [record()],
        "broken off": [*unfinished, record("relu")],
        "several": several,
        "players": [played(record)],
    }
    for each in kinds[request.param]:
        write_record(store, each)
    if request.param == "broken off":
        planned_records(store, [*unfinished, waiting], [waiting])
    return request.param, store


@pytest.mark.walk(1)
@pytest.mark.parametrize("filled", ["one", "broken off", "several", "players"], indirect=True)
def test_every_table_answers(filled, capsys):
    kind, store = filled
    for name in (*TABLES, "all"):
        status = asked(store, name)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        if status:
            assert kind == "players", (name, err)
            assert "mean_return" in err
        else:
            assert out.strip(), name
    if kind == "broken off":
        asked(store)
        out = capsys.readouterr().out
        for words in ("1 diverged", "1 failed", "1 collapsed", "SeLU", "still to come"):
            assert words in out
    if kind in ("several", "players"):
        asked(store, "headline")
        assert "1 stuck" in capsys.readouterr().out


def test_a_table_has_its_number_for_a_name_and_a_wrong_name_is_answered_with_the_right_ones():
    words = {"table2": ("2", "table2", "Table2"), "tableE3": ("e3", "table_e3", "table E3"), "headline": ("headline",)}
    assert {name: {named(word).name for word in of} for name, of in words.items()} == {name: {name} for name in words}
    with pytest.raises(ConfigError) as raised:
        named("E17")
    assert "'E17'" in str(raised.value)
    assert "E1, E2, E3" in str(raised.value)
    assert "selected" in str(raised.value)


@pytest.mark.parametrize("filled", ["several"], indirect=True)
@pytest.mark.parametrize(
    ("words", "labels"),
    [
        (["benchmark.batch_size=16", "precision=bf16"], ["Permuted digits"]),
        (
            ["benchmark.name=cifar51,permuted_mnist", "optimizer.lr=1e-3", "activation=tanh"],
            ["Permuted MNIST", "CIFAR 5+1"],
        ),
    ],
)
def test_runs_are_chosen_by_any_key(filled, words, labels, capsys):
    _, store = filled
    assert asked(store, "2", "--where", *words) == 0
    out = capsys.readouterr().out
    headings = [line for line in out.splitlines() if line.strip().startswith("activation")]
    for label in ("Permuted MNIST", "Permuted digits", "CIFAR 5+1"):
        assert any(label in line for line in headings) == (label in labels), (label, out)


@pytest.mark.parametrize("filled", ["one"], indirect=True)
def test_where_needs_a_key_and_a_value(filled, capsys):
    _, store = filled
    assert asked(store, "--where", "benchmark.batch_size") == 1
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert "KEY=VALUE" in err
