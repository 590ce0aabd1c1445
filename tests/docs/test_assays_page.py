"""The numbers of docs/pages/reproduction/assays.md follow from the stored data."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/pages/reproduction/assays.md").read_text(encoding="utf-8")
DATA = ROOT / "analysis/measured/assays/random_label_mnist.csv"
VARIANTS = ("fresh_labels", "fresh_labels, moments kept", "fresh_labels, head fresh", "paired_offset")
ARMS = {
    "ReLU": ("relu", "none"),
    "ReLU, L2-Init": ("relu", "l2_init"),
    "ReLU, shrink and perturb": ("relu", "shrink_and_perturb"),
    "ReLU, fresh network each task": ("relu", "fresh_each_task"),
    "Leaky-ReLU": ("leaky_relu", "none"),
}


@pytest.fixture(scope="module")
def rows():
    with DATA.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def gaps(rows, variant, arm, task):
    at = (variant, *arm, str(task))
    found = [row for row in rows if (row["variant"], row["activation"], row["intervention"], row["task"]) == at]
    assert len({row["seed"] for row in found}) == len(found) == 5
    for row in found:
        assert float(row["aged_loss"]) - float(row["fresh_loss"]) == pytest.approx(float(row["loss_gap"]), abs=2e-5)
    return np.array([float(row["loss_gap"]) for row in sorted(found, key=lambda row: row["seed"])])


def interval(values):
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5
    mean = values.mean()
    return f"{mean:+.2f} [{mean - half:+.2f}, {mean + half:+.2f}]".replace("-", "−")


@pytest.mark.parametrize("name", ARMS)
def test_a_row_of_the_table_is_what_its_data_make(rows, name):
    (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| {name} | "))
    cells = [cell.strip(" *") for cell in row.strip("|").split("|")[1:]]
    assert cells == [interval(gaps(rows, variant, ARMS[name], 25)) for variant in VARIANTS]


def test_the_differences_and_the_course_that_the_text_names(rows):
    relu, leaky = ARMS["ReLU"], ARMS["Leaky-ReLU"]
    new, kept, head = (gaps(rows, variant, relu, 25) for variant in VARIANTS[:3])
    assert f"ReLU alone {interval(kept - new)}" in PAGE
    assert f"ReLU alone ({interval(head - new)})" in PAGE
    assert interval(gaps(rows, VARIANTS[2], relu, 5)) in PAGE
    assert interval(gaps(rows, VARIANTS[2], leaky, 5)) in PAGE
    for arm in ARMS.values():
        assert (gaps(rows, VARIANTS[1], arm, 25) - gaps(rows, VARIANTS[0], arm, 25)).mean() < 0
