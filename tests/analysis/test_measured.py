"""What stands in analysis/measured/: every table and figure is still what its data make, in every form that is stored.

`make measured` writes them anew after a change of words.
"""

import io
import json
import re
from importlib.metadata import version

import numpy as np
import pytest
from PIL import Image

from analysis.__main__ import main
from analysis.statistics.method import AT_FIRST, TODAY
from analysis.tables import TABLES
from tests.helpers.measured import MEASURED, NOT_MADE, is_data, makers

MAKERS = makers()
ORIGINS = sorted(path for path in MEASURED.rglob("*.json") if path.stem in TABLES)
CYCLE = MEASURED / "mujoco_cycle_reduced"
OF_TODAY = (
    "permuted_mnist_as_published/tableE4.json",
    "random_label_mnist_as_published/tableE5.json",
    "cifar51_as_published/tableE7.json",
    "cifar51_ewc_by_batch/tableE7.json",
)
"""Stored after intervals came to be made another way."""


def named(path):
    return "/".join(path.parts[-2:])


@pytest.mark.walk(20)
@pytest.mark.parametrize("path", MAKERS, ids=named)
def test_a_stored_table_or_figure_is_what_its_data_make(path):
    again, stored = MAKERS[path](), path.read_bytes()
    if path.suffix != ".png":
        assert again.decode() == stored.decode(), "`make measured` writes it anew"
        return
    ours, theirs = (Image.open(io.BytesIO(each)) for each in (again, stored))
    if version("matplotlib") not in theirs.info["Software"]:
        pytest.skip("another matplotlib drew it, which may draw otherwise")
    assert ours.size == theirs.size, "`make measured` draws it anew"
    apart = np.abs(np.asarray(ours, dtype=int) - np.asarray(theirs, dtype=int)).max(axis=2) > 32
    assert apart.mean() < 1e-3, "but for edges that another machine smooths otherwise; `make measured` draws it anew"


def test_every_stored_file_is_data_or_made_of_data_or_named_with_a_reason():
    stored = {path for path in MEASURED.rglob("*") if path.is_file()}
    known = {path for path in stored if is_data(path)} | MAKERS.keys() | {MEASURED / name for name in NOT_MADE}
    assert stored - known == set()
    assert {MEASURED / name for name in NOT_MADE} <= stored, "no reason without a file"


@pytest.mark.parametrize("path", ORIGINS, ids=named)
def test_a_stored_json_keeps_by_what_its_intervals_were_made(path):
    methods = TODAY if named(path) in OF_TODAY else AT_FIRST
    for group in json.loads(path.read_bytes()):
        assert group["intervals"] == {of: method.as_json() for of, method in methods.items()}


def test_a_part_of_the_runs_of_a_printed_table_has_none_of_its_numbers(tmp_path, capsys):
    stored = CYCLE / "clean" / "tableF2.json"
    main(["table", "F2", "--store", str(stored), "--where", "seed=0,1", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert re.search(r"ReLU +– \(0/2, 2 without their returns\)", printed)
    assert "12 of 12 finished runs" in printed
