"""Tables and figures of activations themselves: derived marks beside the paper's, every difference with its reason."""

import csv
import io

import pytest

from analysis.__main__ import main
from analysis.conf import FOLDER, option
from analysis.derived import defaults, definitions, shapes
from analysis.figures.shapes import SHAPES, figure, stored
from analysis.reported import lines
from analysis.tables import TABLES
from analysis.tables.declared.table_activations import PROPERTIES, REPORTED, Mark, reasons
from analysis.tables.render import csv_text, text

GRIDS = ("tableA1", "tableG1")


@pytest.fixture
def no_store(tmp_path, monkeypatch):
    """A folder to work in, without a store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLASTICITY_STORE", str(tmp_path / "store"))
    return tmp_path


def listing(name):
    (shown,) = TABLES[name].listings([])
    return shown


def fields(name):
    return list(csv.DictReader(io.StringIO(csv_text([listing(name)]))))


def test_every_activation_of_conf_has_marks_and_the_tables_have_the_papers_lines():
    names = {path.stem for path in (FOLDER / "activation").glob("*.yaml")}
    assert set(defaults()) == names
    printed = [line["activation"] for line in lines(REPORTED)]
    assert [name for table in GRIDS for name in TABLES[table].only["activation"]] == printed
    assert set(printed) <= names
    assert list(definitions()) == list(PROPERTIES)
    for name in names:
        known = {key: value for key, value in option("activation", name).items() if key not in ("_target_", "grids")}
        assert dict(defaults()[name].settings) == known


def test_marks_differ_from_the_papers_where_a_reason_is_given_and_nowhere_else():
    found = {(line["activation"], line["property"]) for name in GRIDS for line in fields(name) if
             line["ours"] != line["paper"]}  # fmt: skip
    assert found == {
        ("swish", "Sat−"), ("gelu", "Sat−"), ("swiglu", "Sat−"), ("rational", "C1"),
        ("rational", "L/R slope"), ("smooth_leaky", "NonM"), ("rand_smooth_leaky", "NonM"),
    }  # fmt: skip
    assert found == {place for place, reason in reasons().items() if reason.kind in ("numbers", "wording")}
    assert {reason.kind for reason in reasons().values()} == {"numbers", "wording", "agrees"}


def test_a_table_says_of_each_difference_why():
    shown = listing("tableA1")
    swish = next(cells for cells in shown.body if cells[0] == "Swish (SiLU)")
    assert swish == ["Swish (SiLU)", "−/−", "✓/✓", "−/−", "✓/−", "✓/✓", "✓/✓", "−/−", "−/−", "✓/✓"]
    assert len(shown.bold) == 7
    words = text([shown])
    assert "**✓/−**" in words
    assert "φ′ jumps by 0.068 at 0" in words
    for (activation, name), reason in reasons().items():
        if activation in TABLES["tableA1"].only["activation"]:
            assert any(name in line and reason.words in line for line in shown.caption)


def test_marks_that_settings_change_are_said():
    (elu,) = (line for line in fields("tableA1") if (line["activation"], line["property"]) == ("elu", "C1"))
    assert (elu["ours"], elu["printed"]) == ("True", "✓†")
    assert set(elu["otherwise_at"].split("; ")) == {"alpha=1.5", "alpha=3.6", "alpha=3.9"}


def test_what_the_paper_does_not_mark_does_not_differ():
    assert Mark(True, "").paper is None
    assert not Mark(True, "").differs
    assert Mark(True, "−‡").differs
    assert not Mark(True, "✓*").differs


def test_shapes_are_grouped_as_figures_2_and_3_group_them():
    groups = {}
    for name, shape in defaults().items():
        groups.setdefault(shape.floor_kind, set()).add(name)
    assert groups["zero"] == {"relu", "sigmoid", "tanh", "hadamard"}
    assert {"leaky_relu", "rrelu", "prelu"} <= groups["non-zero"]
    assert {"elu", "celu", "selu", "gelu", "swish"} <= groups["effective non-zero"]
    sides = {name: shape.side for name, shape in defaults().items()}
    assert {name for name, side in sides.items() if side == "two-sided"} == {"sigmoid", "tanh", "hadamard"}
    assert sides["leaky_relu"] == sides["prelu"] == sides["rrelu"] == sides["selu"] == "one-sided (kink)"
    assert sides["elu"] == sides["celu"] == "one-sided (smooth)"
    assert "SeLU (alpha=1.673)" in " ".join(listing("activation_shapes").caption)
    assert len(listing("activation_shapes").body) == len(shapes()) > 60


@pytest.mark.walk(1)
@pytest.mark.parametrize("name", SHAPES)
def test_a_figure_of_activations_needs_no_store(name, no_store, capsys):
    assert main(["figure", name]) == 0
    assert "Written: figures" in capsys.readouterr().out
    files = {f"{name}.{end}" for end in ("pdf", "svg", "png", "csv", "json")}
    assert {path.name for path in (no_store / "figures").iterdir()} == files
    assert not (no_store / "store").exists()


def test_figures_show_the_function_and_its_derivative():
    value, slope = figure("figure5").panels
    assert [series.label for series in value.series] == ["Smooth-Leaky", "Rand. Smooth-Leaky"]
    assert value.series[0].y[0] == pytest.approx(-0.6, abs=0.001), "α x far to the left"
    assert slope.series[0].y[-1] == pytest.approx(1, abs=0.001)
    assert slope.series[1].y_range[0] == pytest.approx((0.3, 1.0), abs=0.001), "the bounds of its slope"
    starts, low, high = (dict(zip(curve.x, curve.slope[0], strict=True)) for curve in stored("figureG1"))
    assert (starts[-3], low[-3], high[-3]) == pytest.approx((0.65, 0.6, 0.8), abs=1e-5)
    (selu,) = stored("figureG2")
    at = selu.x.index(-3)
    assert [end[0][at] for end in selu.value_ends] == pytest.approx(
        [1.0507 * r * (2.718281828**-3 - 1) for r in (0.9232, 2.4232)], rel=1e-4
    )
