import csv
import io
import re
from types import SimpleNamespace

import pytest

from analysis.figures.drawing import Drawing, Panel, Series
from analysis.figures.files import csv_text as figure_csv
from analysis.rows import rows
from analysis.tables.build import build
from analysis.tables.declared.means import TABLE2
from analysis.tables.render import csv_text, guarded, latex, markdown, text


@pytest.fixture
def built(seeds, record, benchmarks):
    """Leaky-ReLU at two slopes, ReLU with a diverged run and Tanh collapsed once, beside the paper's values."""
    mnist = {"benchmark": benchmarks["mnist"]}
    return build(
        TABLE2,
        rows([
            *seeds("leaky_relu", [0.8411, 0.8412, 0.8414], negative_slope=0.6, **mnist),
            *seeds("leaky_relu", [0.7011, 0.7012, 0.7013], negative_slope=0.1, **mnist),
            *seeds("relu", [0.7881, 0.7883], **mnist),
            record("relu", seed=2, status="diverged", **mnist),
            *seeds("tanh", [0.5001, 0.5002], **mnist),
            record("tanh", seed=2, taoa=0.1, collapsed=True, **mnist),
        ]),
    )  # fmt: skip


@pytest.fixture
def results(built):
    return [TABLE2.listing(each) for each in built]


@pytest.mark.parametrize("rendered", [text, markdown, latex])
def test_every_rendering_shows_ours_the_papers_and_what_is_missing(results, rendered):
    shown = rendered(results).replace(r"$\pm$", "±")
    for number in ("84.12 ± 0.02", "84.14 ± 0.01", "78.82 ± 0.01", "70.12 ± 0.01", "36.68 ± 23.10"):
        assert number in shown
    assert "(2/3, 1 diverged)" in shown
    assert "(1 collapsed)" in shown


@pytest.mark.parametrize(
    ("rendered", "best", "alike"),
    [
        (text, "**84.12 ± 0.02**†", "**36.68 ± 23.10** (1 collapsed)"),
        (markdown, "**84.12 ± 0.02**†", "**36.68 ± 23.10** (1 collapsed)"),
        (latex, r"\textbf{84.12 $\pm$ 0.02}$^\dagger$", r"\textbf{36.68 $\pm$ 23.10} (1 collapsed)"),
    ],
)
def test_the_best_is_bold_with_what_varies_too_much_to_be_told_from_it_and_nothing_else(results, rendered, best, alike):
    shown = rendered(results)
    assert best in shown
    assert alike in shown, "of three runs one collapsed: p = 0.07"
    assert len(re.findall(r"\*\*\d|\\textbf", shown)) == 2


def test_csv_has_a_line_a_cell_and_all_digits(built, results):
    lines = {line["row"]: line for line in csv.DictReader(io.StringIO(csv_text(results)))}
    assert len(lines) == 4
    best = lines["Leaky-ReLU (negative_slope=0.6)"]
    (cell,) = [cell for (row, _), cell in built[0].cells.items() if row.label == best["row"]]
    assert float(best["mean"]) == cell.mean
    assert float(best["p_against_next"]) == cell.against_next.p
    assert (best["best"], best["significant"], best["paper_mean"]) == ("True", "True", "84.14")
    assert (best["benchmark"], best["schedule"], best["n"], best["parameters"]) == (
        "permuted_mnist",
        "demo",
        "3",
        "17610.0",
    )
    assert (lines["ReLU"]["n"], lines["ReLU"]["expected"], lines["ReLU"]["diverged"]) == ("2", "3", "1")
    assert lines["ReLU"]["p_against_next"] == ""


def test_latex_is_balanced_and_escaped(results):
    shown = latex(results)
    assert r"negative\_slope=0.6" in shown
    assert r"(\%)" in shown
    assert not re.search(r"(?<!\\)[_%#]", shown.split("\n", 1)[1])
    assert [shown.count(rf"\begin{{{name}}}") == shown.count(rf"\end{{{name}}}") == 1 for name in ("table", "tabular")]
    (columns,) = re.findall(r"\\begin\{tabular\}\{(\w+)\}", shown)
    lines = [line for line in shown.splitlines() if line.endswith(r" \\")]
    assert {line.count(" & ") + 1 for line in lines} == {len(columns)}
    assert len(lines) == 1 + 4


def test_markdown_keeps_its_columns_where_a_name_has_a_bar(record):
    shown = markdown(TABLE2.listings(rows([record("odd|name")])))
    assert r"odd\|name" in shown
    table = [line for line in shown.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1


def test_brackets_in_a_setting_survive_the_terminal(seeds):
    records = [*seeds("rational", [0.5], version="[red]"), *seeds("rational", [0.6], version="A")]
    (line,) = [
        line
        for line in text(TABLE2.listings(rows(records))).splitlines()
        if line.startswith("  Rational (version=[red])")
    ]
    assert "50.00" in line


def test_tables_and_figures_guard_what_a_spreadsheet_would_calculate_and_leave_numbers():
    for cell in ("=1+1", "+SUM(A1)", "-cmd|'/C calc'!A0", "@SUM(1)", "\t=1", "\r=1"):
        assert guarded(cell) == f"'{cell}"
    for cell in ("relu", "-0.5", "+1e-3", "-inf", "", "a=1", -0.5, 0, None):
        assert guarded(cell) == cell
    table = SimpleNamespace(lines=[{"activation": "=1+1", "mean": -0.25}])
    series = Series(label="@SUM(1)", key="=1+1", x=[-1.0], y=[-0.25], n=[1], runs=["abababababab"])
    drawing = Drawing("figure1", "Accuracy", [Panel("TAOA", "task", "accuracy", [series])])
    assert list(csv.reader(io.StringIO(csv_text([table])))) == [["activation", "mean"], ["'=1+1", "-0.25"]]
    heading, line = csv.reader(io.StringIO(figure_csv(drawing)))
    cells = dict(zip(heading, line, strict=True))
    assert (cells["series"], cells["activation"], cells["y"]) == ("'@SUM(1)", "'=1+1", "-0.25")
