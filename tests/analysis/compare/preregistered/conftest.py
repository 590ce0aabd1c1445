"""A registered study that has been trained, and a copy of it to be changed."""

import shutil

import pytest

from plasticity_lab.records.store import Store
from tests.analysis.compare.preregistered.study import STUDY, fixed
from tests.helpers.sweeps import planned, trained


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Planned, fixed, trained."""
    store = Store(tmp_path_factory.mktemp("study") / "store")
    planned(store, *STUDY)
    assert fixed(store, "--test", "paired") == 0
    trained(store, *STUDY)
    return store


@pytest.fixture
def store(study, tmp_path):
    """A copy to be changed."""
    shutil.copytree(study.root, tmp_path / "store")
    return Store(tmp_path / "store")
