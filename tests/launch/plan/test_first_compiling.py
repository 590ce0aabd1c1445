"""A plan counts the compiling that comes first on a machine: each structure once, and nothing that is there already."""

import pytest

from launch.launchers.prepare import costs_to_show
from launch.plan import first_compiling as room
from launch.plan.compiling import workers_folder
from launch.plan.first_compiling import GRAPHS_ON_CPU, PART_SECONDS, first_compiling, marked_as_compiled
from plasticity_lab.kernels.build import OWN, library_of
from plasticity_lab.kernels.operators import PARTS
from plasticity_lab.records.store import Store
from tests.helpers.packs import needs_compiler, needs_kernels
from tests.helpers.sweeps import planned

pytestmark = [needs_compiler, needs_kernels]
MLP = {"linear", "linear_adam", "linear_gradients"}
DENSE = GRAPHS_ON_CPU["dense"]


@pytest.fixture(autouse=True)
def _nothing_is_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "compiled"))
    monkeypatch.setattr(room, "cores", lambda: 1)


@pytest.fixture
def seconds(tmp_path):
    """What a plan counts: words of its command, and keywords for `first_compiling`."""

    def seconds(*words, workers=1, kind=None):
        plan = planned(Store(tmp_path / f"store {' '.join(words)}"), *words)
        kind = plan.packs[0].kind if kind is None else kind
        return first_compiling(plan.packs, plan.runs, costs_to_show(plan.settings), workers, kind).seconds

    return seconds


def compile_parts(parts):
    for part in parts:
        library = library_of(part, workers_folder() / OWN)
        library.parent.mkdir(parents=True, exist_ok=True)
        library.touch()


def compile_graphs(plan):
    for pack in plan.packs:
        with marked_as_compiled(plan.runs_of(pack)[0], pack):
            pass


def test_a_structure_is_counted_once_by_its_mode_and_the_parts_that_it_calls(seconds):
    assert PART_SECONDS.keys() == PARTS.keys(), "each part of the kernels was timed"
    of_parts = sum(PART_SECONDS[part] for part in MLP)
    assert seconds("mode=eager") == 0
    assert seconds("mode=compiled") == pytest.approx(DENSE.first)
    assert seconds("mode=kernels") == pytest.approx(DENSE.first + of_parts)
    by_sgd = of_parts - PART_SECONDS["linear_adam"] + PART_SECONDS["linear_sgd"]
    assert seconds("mode=kernels", "optimizer=sgd") == pytest.approx(DENSE.first + by_sgd)
    clipped = ("agent=ppo", "benchmark=classic_cycle", "agent.max_norm=0.5")
    assert seconds("mode=kernels", *clipped) == pytest.approx(DENSE.first + of_parts - PART_SECONDS["linear_adam"])
    many = ("mode=compiled", "seed=range(40)", "launch.workers=2")
    assert seconds(*many, workers=2) <= 2 * DENSE.first, "packs of one structure share its graphs"
    two = ("mode=compiled", "activation=relu,tanh")
    assert seconds(*two) == pytest.approx(DENSE.first + DENSE.further)
    assert seconds(*two, "seed=1", workers=2) == pytest.approx(DENSE.first)


def test_code_that_is_there_is_not_counted_and_of_other_machines_it_is_not_known(seconds, store):
    words = ("mode=kernels", "seed=0")
    whole = seconds(*words)
    compile_parts(["linear"])
    assert seconds(*words) == pytest.approx(whole - PART_SECONDS["linear"])
    compile_parts(MLP)
    assert seconds(*words) == pytest.approx(DENSE.first)
    compile_graphs(planned(store, *words))
    assert seconds(*words) == 0
    assert seconds("mode=kernels", "activation=tanh") == pytest.approx(DENSE.first), "another structure's graphs"
    assert seconds(*words, kind="cpu-avx2-000000") == pytest.approx(whole)
