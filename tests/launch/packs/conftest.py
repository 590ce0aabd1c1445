import pytest

from plasticity_lab.records.store import Store


@pytest.fixture
def store(tmp_path):
    """One that has its folders."""
    found = Store(tmp_path / "store")
    found.prepare()
    return found
