"""The measured tables of the repository: their runs still give the numbers that stand in them."""

import csv
import io
from pathlib import Path

import pytest

from analysis.tables import TABLES
from analysis.tables.build import build
from analysis.tables.origin import rows_of
from analysis.tables.render import csv_text

MEASURED = Path(__file__).parents[2] / "analysis" / "measured"


PATHS = sorted(path for path in MEASURED.glob("*/*.csv") if path.stem in TABLES)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_measured_table_is_made_of_its_runs(path):
    own = path.with_suffix(".json")  # a table without one is made of the same runs as the Table 2 beside it
    runs = own if own.exists() else path.with_name("table2.json")
    made = list(csv.DictReader(io.StringIO(csv_text(build(TABLES[path.stem], rows_of(runs))))))
    written = list(csv.DictReader(io.StringIO(path.read_text())))
    assert [{name: line[name] for name in written[0]} for line in made] == written
