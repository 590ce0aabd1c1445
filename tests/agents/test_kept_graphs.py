"""The graphs of every agent are kept on the disk, and another process finds them there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_flatten

from launch.work.precompile import compile_graphs
from plasticity_lab.agents import graphs, written_graph
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.agents.recording import Run
from plasticity_lab.assembly import resources
from plasticity_lab.component import load
from plasticity_lab.records.own_classes import digest_of_class
from tests.agents.sac.packs import SMALL as SAC
from tests.agents.sac.pixels import WORDS as SAC_ON_PIXELS
from tests.agents.value.packs import BY_AGENT
from tests.helpers.packs import choices, needs_compiler, needs_kernels, run
from tests.helpers.sweeps import runs_of

pytestmark = pytest.mark.slow

CLASSIC = ("benchmark=classic_cycle", "benchmark.bodies=[cartpole]", "network.width=8", "network.depth=1")
NUMBERS = ("benchmark=mujoco", "benchmark.bodies=[hopper]", "network.width=8", "network.depth=1")
CONVOLUTIONS = ("benchmark=digits51", "network=vit", "network.depth=1")
DIGITS = ("benchmark=split_digits", "network.depth=1")
VALUE = {"acting", "value step"}
CASES = {  # words, and what its graphs are called; where a memory is filled first, that takes more than one chunk
    **{name: ((*words, "network.depth=1", "agent.min_history=100"), VALUE) for name, words in BY_AGENT.items()},
    "ppo": (("agent=ppo", *CLASSIC), {"acting", "ppo step"}),
    "ppo_cleanrl": (("agent=ppo_cleanrl", *CLASSIC), {"acting", "ppo step"}),
    "numbers for actions": (("agent=ppo", *NUMBERS), {"acting", "ppo step"}),
    "convolutions": (CONVOLUTIONS, {"supervised step", "supervised score"}),
    "sac": ((*SAC, "benchmark.bodies=[hopper]", "network.depth=1"), {"acting", "sac critics", "sac actor"}),
    "sac on pixels": (SAC_ON_PIXELS, {"acting", "sac shared"}),
    "supervised": (("benchmark=permuted_digits", "network.depth=1"), {"supervised step", "supervised score"}),
    "experience_replay": (("agent=experience_replay", *DIGITS), {"supervised step", "scores of groups"}),
    "no_replay": (("agent=no_replay", *DIGITS), {"supervised step", "scores of groups"}),
    "regression": (("agent=regression", "benchmark=slowly_changing_regression"), {"supervised step"}),
}
AT_ONCE = ("der", "ppo")
"""Cases of `make test`: an agent with noise and a memory, and one without."""
SECOND = """
import json, sys
from pathlib import Path
from launch.work.precompile import compile_graphs
from launch.work.process import prepare_process
from plasticity_lab.agents import graphs, torch_compiler
from plasticity_lab.assembly import resources
from tests.helpers.sweeps import runs_of

prepare_process()
words, kernels = json.loads(sys.argv[1])
made, recorded = [], torch_compiler.recorded
torch_compiler.recorded = lambda *given: made.append(given) or recorded(*given)
compile_graphs(runs_of(*words), resources(Path())(runs_of(*words)[0]), kernels)
print(json.dumps([len(made), len(graphs._here)]))
"""


def recorded(function, arguments) -> set[str]:
    """The modules of the code that a graph of the function is made of, without making it."""
    leaves, structure = tree_flatten(tuple(arguments))
    run = Run(function, leaves, structure)
    with FakeTensorMode(allow_non_fake_inputs=True) as without_numbers:
        run(*[without_numbers.from_tensor(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)])
    return run.modules


def test_every_agent_is_among_the_cases():
    words = {word for of, _ in CASES.values() for word in of}
    assert {f"agent={name}" for name in choices("agent")} - {"agent=supervised"} <= words


@pytest.mark.walk(1)
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in AT_ONCE else pytest.mark.slow) for each in CASES]
)
def test_all_that_its_graphs_are_made_of_is_known_by_their_names_on_the_disk(name, monkeypatch):
    (words, expected), met = CASES[name], {}

    def trace(function, same, arguments):
        met[same[0]] = recorded(function, arguments)
        return function

    monkeypatch.setattr(graphs, "graph_of", trace)
    runs = runs_of(*words)
    compile_graphs(runs, resources(Path())(runs[0]), kernels=False)
    assert set(met) == expected
    for graph, modules in met.items():
        assert "plasticity_lab" in {module.partition(".")[0] for module in modules}
        assert not {module for module in modules if not graphs.is_known(module)}, graph


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kernels"), [*((each, False) for each in CASES), pytest.param("rainbow", True, marks=needs_kernels)]
)
def test_its_graphs_are_written_and_another_process_finds_them(name, kernels, tmp_path):
    words, expected = CASES[name]
    given = [sys.executable, "-c", SECOND, json.dumps([words, kernels])]
    there = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}

    def process() -> list[int]:
        return json.loads(subprocess.run(given, env=there, capture_output=True, text=True, check=True).stdout)

    made, known = process()
    assert made == known == len(expected)
    files = list(tmp_path.glob("plasticity_lab/*.graph"))
    assert len(files) == made
    assert all(written_graph.load(file) for file in files), "one of them needs torch's compiler"
    assert process() == [0, known]


def test_pythons_own_modules_are_known_and_a_file_of_their_name_is_not(monkeypatch, tmp_path):
    for module in ("dataclasses", "collections.abc", "torch.nn", "plasticity_lab.run", "json.decoder"):
        assert graphs.is_known(module)
    for module in ("numpy", "pytest", __name__, "__main__", "nowhere"):
        assert not graphs.is_known(module)
    monkeypatch.setattr(sys.modules["dataclasses"], "__file__", str(tmp_path / "dataclasses.py"))
    assert not graphs.is_known("dataclasses")


def test_an_edited_class_of_ones_own_has_other_graphs_though_its_code_is_not_in_them(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(tmp_path)

    def structure(form: str) -> str:
        (tmp_path / "of_somebody.py").write_text(
            "from plasticity_lab.activations.gelu import GELU\n\n\n"
            "class Mine(GELU):\n    def __init__(self, beta: float = 2.0) -> None:\n"
            f"        super().__init__(beta, {form!r})\n"
        )
        for known in (load, digest_of_class):
            known.cache_clear()
        sys.modules.pop("of_somebody", None)
        own = run(0, images=40).with_option("activation", "mine", "of_somebody.Mine", {"beta": 2.0})
        return parts_of([own]).structure

    assert structure("gate") != structure("scale_input")
    assert structure("gate") == structure("gate")
