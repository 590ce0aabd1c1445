"""The tables of docs/pages/reference/speed.md, compared with the results that they are made from."""

from launch.bench import page


def test_the_tables_are_those_of_the_results():
    assert page.tables() in page.PAGE.read_text()


def test_a_row_compares_with_the_plain_script_of_its_own_measurement():
    rows = [
        {"name": "usual script", "facts": {"width": 1}, "rate": 100.0, "ratio": 1.0, "least": 1.0, "most": 1.0},
        {"name": "packed, kernels", "facts": {"width": 4}, "rate": 700.0, "ratio": 7.0, "least": 6.5, "most": 7.5},
        {"name": "packed, kernels", "facts": {"width": 8}, "rate": 900.0, "ratio": 9.0, "least": 8.0, "most": 9.5},
        {"name": "JAX", "facts": {"width": 8}, "rate": 450.0, "ratio": 4.5, "least": 4.0, "most": 5.0},
    ]
    content = {
        "command": "bench",
        "comparisons": [{"part": "widths", "name": "mlp, packs of every width", "rows": rows}],
    }

    [row] = page._rates([page.Result(3, content)])

    assert row == "| MLP | 100 |  |  | 9.00 × (8.00 – 9.50), 8 | JAX 4.50 × | [3] |"
