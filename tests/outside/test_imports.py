"""The public names: each can be imported, and nothing on the way needs more than torch and numpy."""

import subprocess
import sys

import pytest

from plasticity_lab import outside

ALONE = """
import sys, time
import torch, numpy
NEEDED, OURS = set(sys.modules), "plasticity_lab"
before = time.process_time()
import plasticity_lab.outside as outside
seconds = time.process_time() - before
def third_parties():
    found = {name.partition(".")[0] for name in sys.modules} - {name.partition(".")[0] for name in NEEDED}
    found -= {*sys.stdlib_module_names, OURS, "cython_runtime"}
    return {name for name in found if not name.startswith("_")}
for name in outside.PLACES:
    assert getattr(outside, name)
assert not third_parties(), third_parties()
print(seconds)
"""


def test_all_public_names_need_torch_and_numpy_only_and_the_package_is_imported_at_once():
    found = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert float(found.stdout) <= 0.2


def test_another_name_is_refused_with_the_right_ones():
    with pytest.raises(AttributeError, match="measure"):
        outside.measures  # noqa: B018
    assert "measure" in dir(outside)
