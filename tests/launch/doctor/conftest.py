import pytest

from launch.__main__ import main
from launch.doctor.machine import software
from launch.doctor.node import FROM_HERE, Visit
from plasticity_lab.assembly import benchmarks_of
from tests.helpers.sweeps import runs_of


@pytest.fixture
def doctor(store, capsys):
    """Gives the command → its status, and the lines that are not ok."""

    def run(*words):
        words = words if any(word.startswith("store=") for word in words) else (f"store={store.root}", *words)
        status = main(["doctor", *words])
        return status, [line.strip() for line in capsys.readouterr().out.splitlines() if not line.startswith("  ok")]

    return run


@pytest.fixture
def visit(store):
    """A visit to this machine as a node."""
    store.prepare()
    trial = store.short_job_folder("trial")
    trial.mkdir(parents=True)
    (trial / FROM_HERE).touch()
    benchmarks = benchmarks_of(runs_of("seed=0,1"))
    return Visit(str(store.root), str(trial), software(), benchmarks, None, 120, False, "cpu", 0, False, True)
