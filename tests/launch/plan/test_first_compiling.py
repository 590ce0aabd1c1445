"""A plan counts the compiling that comes first on a machine: each structure once, and nothing that is there already."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from launch.command import run_command
from launch.launchers import local
from launch.launchers.prepare import costs_to_show
from launch.plan import first_compiling as timing
from launch.plan.device import workers_folder
from launch.plan.first_compiling import first_compiling, mark_of, marked_as_compiled
from launch.plan.speed import COMPILING
from launch.wording import in_time
from launch.work.process import prepare_compiling
from plasticity_lab.agents import graphs, torch_compiler
from plasticity_lab.kernels.build import OWN, library_of
from plasticity_lab.kernels.operators import PARTS
from plasticity_lab.records.store import Store
from tests.helpers.packs import needs_compiler, needs_kernels
from tests.helpers.sweeps import SMOKE, planned, said_last

pytestmark = [needs_compiler, needs_kernels]
MLP = {"stack_right", "stack_adam"}
OF_PRELU = {"linear", "linear_adam", "linear_gradients", "steps", "log_softmax"}
PART_SECONDS = COMPILING["parts"]
GRAPHS, OF_KERNELS = COMPILING["graphs_on_cpu"], COMPILING["graphs_by_kernels"]
FIRST, FURTHER = GRAPHS["first"] + GRAPHS["dense"], GRAPHS["dense"]
FIRST_BY_KERNELS = OF_KERNELS["first"] + OF_KERNELS["dense"]
BY_KERNELS = 0.0  # steps and evaluations by our kernels need no graph


@pytest.fixture(autouse=True)
def _nothing_is_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "compiled"))
    monkeypatch.setattr(timing, "cores", lambda: 1)


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


def test_every_part_of_the_kernels_has_a_price():
    assert PART_SECONDS.keys() == PARTS.keys(), "a plan of runs that call the part would end in a KeyError"


def test_a_structure_is_counted_once_by_its_mode_and_the_parts_that_it_calls(seconds):
    of_parts = sum(PART_SECONDS[part] for part in MLP)
    assert seconds("mode=eager") == 0
    assert seconds("mode=compiled") == pytest.approx(FIRST)
    assert seconds("mode=kernels") == pytest.approx(BY_KERNELS + of_parts)
    by_sgd = of_parts - PART_SECONDS["stack_adam"] + PART_SECONDS["stack_sgd"]
    assert seconds("mode=kernels", "optimizer=sgd") == pytest.approx(BY_KERNELS + by_sgd)
    of_parts = sum(PART_SECONDS[part] for part in OF_PRELU)
    assert seconds("mode=kernels", "activation=prelu") == pytest.approx(FIRST_BY_KERNELS + of_parts)
    by_sgd = of_parts - PART_SECONDS["linear_adam"] + PART_SECONDS["linear_sgd"]
    assert seconds("mode=kernels", "activation=prelu", "optimizer=sgd") == pytest.approx(FIRST_BY_KERNELS + by_sgd)
    clipped = ("agent=ppo", "benchmark=classic_cycle", "agent.max_norm=0.5")
    of_ppo = OF_KERNELS["first"] + 2 * OF_KERNELS["ppo"]
    assert seconds("mode=kernels", *clipped) == pytest.approx(of_ppo + of_parts - PART_SECONDS["linear_adam"])
    many = ("mode=compiled", "seed=range(40)", "launch.workers=2")
    assert seconds(*many, workers=2) <= 2 * FIRST, "packs of one structure share its graphs"
    two = ("mode=compiled", "activation=relu,tanh")
    assert seconds(*two) == pytest.approx(FIRST + FURTHER)
    assert seconds(*two, "seed=1", workers=2) == pytest.approx(FIRST)


def test_code_that_is_there_is_not_counted_and_of_other_machines_it_is_not_known(seconds, store):
    words = ("mode=kernels", "seed=0", "activation=prelu")
    whole = seconds(*words)
    compile_parts(["linear"])
    assert seconds(*words) == pytest.approx(whole - PART_SECONDS["linear"])
    compile_parts(OF_PRELU)
    assert seconds(*words) == pytest.approx(FIRST_BY_KERNELS)
    compile_graphs(planned(store, *words))
    assert seconds(*words) == 0
    assert seconds(*words, "benchmark.tasks=2") == 0, "its length changes no graph"
    assert seconds(*words, "network.width=50") == pytest.approx(FIRST_BY_KERNELS), "another structure's graphs"
    assert seconds(*words, kind="cpu-avx2-000000") == pytest.approx(whole)


def test_it_is_said_and_costs_of_packs_do_not_contain_it(store, capsys):
    asked = ("mode=kernels", "seed=0", "launch.workers=1", "activation=prelu")
    words = said_last(*SMOKE, *asked, f"store={store.root}", "dry_run=true")
    assert run_command(words) == 0
    cold = capsys.readouterr().out
    compile_parts(OF_PRELU)
    compile_graphs(planned(store, *asked))
    assert run_command(words) == 0
    warm = capsys.readouterr().out
    needed = in_time(FIRST_BY_KERNELS + sum(PART_SECONDS[part] for part in OF_PRELU))
    assert f"{needed} to compile kernels and graphs that are not there" in cold
    assert "to compile" not in warm
    assert cold.splitlines()[:3] == warm.splitlines()[:3], "the packs and their times"


def test_if_compiling_takes_longer_than_training_the_way_out_is_said(store, capsys, monkeypatch):
    asked = [*said_last("seed=0", "device=cpu", "tracking=store", "launch.workers=1"), f"store={store.root}"]
    needed = in_time(BY_KERNELS + sum(PART_SECONDS[part] for part in MLP))

    def said(*words):
        assert run_command([*asked, *words, "dry_run=true"]) == 0
        return capsys.readouterr().out

    assert needed in (short := said())
    assert "mode=eager" in short
    assert needed in (long := said("benchmark.tasks=30000"))
    assert "mode=eager" not in long
    monkeypatch.setattr(local, "run_workers", lambda *_: pytest.fail("it would train"))
    with pytest.raises(pytest.fail.Exception):
        run_command(asked)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "mode=eager" in line]
    assert needed in line


@pytest.mark.parametrize(
    ("mode", "prices", "sizes"), [("compiled", GRAPHS, (1.0, 1.64, 3.07)), ("kernels", OF_KERNELS, (1.0, 1.13, 1.65))]
)
def test_graphs_are_priced_by_agent(mode, prices, sizes, seconds):
    compile_parts(PARTS)
    value = ("benchmark=catch", f"mode={mode}")
    by_agent = [seconds(*value, f"agent={name}") - prices["first"] for name in ("dqn", "rainbow_lite", "rainbow")]
    assert by_agent == pytest.approx([2 * size * prices["boards"] for size in sizes]), (
        "a distribution; noise, and a layer more"
    )
    sac = ("benchmark=mujoco", "agent=sac", f"mode={mode}")
    assert seconds(*sac) == pytest.approx(prices["first"] + 3 * prices["sac"])
    if mode == "kernels":
        replay = ("benchmark=split_digits", "optimizer=sgd", "mode=kernels")
        assert seconds(*replay) == pytest.approx(prices["first"] + 0.42 * prices["dense"]), "of its evaluation"


class StandIn:
    """A graph that costs nothing to compile."""

    def source_info(self):
        return SimpleNamespace(inlined_sources=[])

    def save_compiled_function(self, path):
        Path(path).touch()


def test_a_mark_is_left_if_the_disk_has_the_graphs_of_a_training(store, monkeypatch):
    monkeypatch.setattr(torch_compiler, "recorded", lambda *_: None)
    monkeypatch.setattr(torch_compiler, "compiled", lambda *_: StandIn())
    plan = planned(store, "mode=compiled", "seed=0")
    (pack,) = plan.packs
    (run,) = plan.runs_of(pack)
    prepare_compiling()
    graphs.forget()
    x = (torch.ones(3),)
    with marked_as_compiled(run, pack):
        graphs.graph_of(torch.sin, None, x)
    assert not mark_of(run, pack).exists(), "that graph serves nobody else"
    with pytest.raises(ZeroDivisionError), marked_as_compiled(run, pack):
        raise ZeroDivisionError
    assert not mark_of(run, pack).exists(), "its graphs may be missing"
    with marked_as_compiled(run, pack):
        graphs.graph_of(torch.sin, ["sin"], x)
    graphs.forget()
    assert mark_of(run, pack).exists()
