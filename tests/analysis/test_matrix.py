"""What runs know of every task after every task, on matrices made by hand."""

import csv
import io
from functools import partial

import pytest

from analysis.__main__ import main
from analysis.figures.drawing import Asked
from analysis.figures.files import csv_text
from analysis.figures.named import FIGURES
from analysis.frames import metrics_of
from analysis.report.plotly_figure import charts
from analysis.rows import rows_in
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.store import Store
from tests.helpers.curves import on_every_task

SPLIT = {"name": "split_digits", "source": "digits", "tasks": 2, "batch_size": 32}
FORGETS = [[0.9, 0.0], [0.3, 0.8]]
KEEPS = [[0.7, 0.0], [0.5, 0.6]]


@pytest.fixture
def split(tmp_path, record):
    """Two runs of ReLU that learn two groups of classes, one of which forgets more than the other."""
    store = Store(tmp_path / "store")
    for seed, after in enumerate((FORGETS, KEEPS)):
        on_every_task(store, record(seed=seed, benchmark=SPLIT), after, forward=False)
    return store


def drawing_of(store, **asked):
    found, _ = rows_in(store.root)
    return FIGURES["matrix"](Asked(found, partial(metrics_of, [store.root], found), **asked))


def test_a_field_is_the_mean_over_seeds_and_the_caption_has_what_is_read_off(split):
    drawing = drawing_of(split)
    lines = list(csv.DictReader(io.StringIO(csv_text(drawing))))
    fields = {(line["series"], line["x"]): float(line["y"]) for line in lines}
    assert fields == pytest.approx(
        {("after 1", "1"): 80, ("after 1", "2"): 0, ("after 2", "1"): 40, ("after 2", "2"): 70}
    )
    assert {line["n"] for line in lines} == {"2"}
    said = next(line for line in drawing.caption if line.startswith("ReLU"))
    # ACC 55 and 55; BWT -60 and -20, of one step the same; forgetting is their opposite.
    assert "ACC 55.00 ± 0.00, BWT -40.00 ± 28.28, one-step BWT -40.00 ± 28.28" in said
    assert "Forgetting 40.00 ± 28.28" in said
    assert "FWT not defined" in said
    shown = charts(drawing)[0]["data"][0]
    assert (shown["zmin"], shown["zmax"]) == (0, pytest.approx(80)), "no colour is kept for accuracies below 0"


def test_forward_transfer_is_there_where_classes_were_trained_before(tmp_path, record):
    store = Store(tmp_path / "store")
    on_every_task(store, record(benchmark=SPLIT), [[0.9, 0.3], [0.3, 0.8]], forward=True)
    assert "FWT 20.00" in "\n".join(drawing_of(store).caption)


def test_a_metric_that_is_not_defined_is_refused_and_a_run_whose_metrics_are_gone_is_not_in_the_mean(split, capsys):
    assert main(["table", "headline", "--metric", "fwt", "--store", str(split.root)]) == 1
    assert "'fwt' is not defined for these runs" in capsys.readouterr().err
    found, _ = rows_in(split.root)
    split.metrics(found[0].run).unlink()
    lines = list(csv.DictReader(io.StringIO(csv_text(drawing_of(split)))))
    assert {line["n"] for line in lines} == {"1"}
    split.metrics(found[1].run).unlink()
    with pytest.raises(ConfigError, match=r"metrics\.parquet"):
        drawing_of(split)
