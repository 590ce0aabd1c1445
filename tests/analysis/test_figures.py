import pytest

from analysis.__main__ import main
from analysis.figures.curve import draw_curve, panels_of
from analysis.figures.two_orders import two_orders
from analysis.rows import rows
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.record import write_record
from plasticity_lab.records.store import Store
from tests.helpers.made_up_agent import PLAYER, rollouts


@pytest.fixture
def in_both_orders(seeds, benchmarks):
    """ReLU and Tanh in both orders, and Tanh at another learning rate in one."""
    shuffled = {**benchmarks["cifar51"], "order": "shuffle"}
    recorded = []
    for name, online in (("relu", 0.1), ("tanh", 0.5)):
        for benchmark in (benchmarks["cifar51"], shuffled):
            recorded += seeds(name, [online, online + 0.02], benchmark=benchmark)
    return [*recorded, *seeds("tanh", [0.9], lr=1e-4)]


def with_final(records):
    for record in records:
        record["summary"]["final_accuracy"] = record["summary"]["taoa"] + 0.2
    return records


def test_the_orders_are_joined_for_each_activation_with_the_same_settings(in_both_orders):
    figure = two_orders(rows(with_final(in_both_orders)))
    (axes,), (legend,) = figure.axes, figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["in class blocks", "shuffled", "ReLU", "Tanh"]
    joined = [line.get_xydata().round(6).tolist() for line in axes.lines if len(line.get_xydata()) == 2][1:]
    assert joined == [[[11, 31], [11, 31]], [[51, 71], [51, 71]]], "the means of two seeds, in percent"


def test_the_figure_is_written(tmp_path, in_both_orders, capsys):
    store = Store(tmp_path)
    for record in with_final(in_both_orders):
        write_record(store, record)
    assert main(["figure", "two_orders", "--store", str(tmp_path)]) == 0
    assert (tmp_path / "figures" / "two_orders.png").read_bytes().startswith(b"\x89PNG")
    assert "two_orders.png" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["two_order"], "There is no figure 'two_order'; there are two_orders."),
        (["two_orders", "--benchmark", "permuted_digits"], "needs the runs of one benchmark in two orders"),
    ],
)
def test_what_cannot_be_drawn_is_a_sentence(tmp_path, seeds, words, said, capsys):
    for record in seeds("relu", [0.5]):
        write_record(Store(tmp_path), record)
    assert main(["figure", *words, "--store", str(tmp_path)]) == 1
    assert said in capsys.readouterr().err


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
