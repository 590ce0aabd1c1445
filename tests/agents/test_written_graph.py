"""Graphs as the Python that torch wrote: what they do, and that they need no compiler."""

import subprocess
import sys
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from plasticity_lab.agents import graphs, written_graph
from plasticity_lab.agents.compiled import Compiled
from tests.helpers.packs import needs_compiler

MEANS = torch.linspace(1, 2, 4)


class Pair(NamedTuple):
    first: Tensor
    second: dict


def moved(x, state, scale):
    """It reads a constant, changes a tensor in place, passes an argument through, and returns structures."""
    state["layer"]["weight"].sub_(scale * (x - MEANS).tanh().sum(dim=0))
    return Pair((x.exp() @ x.T).exp(), {"weight": state["layer"]["weight"], 3: [x + 1, None]})


def replaced(x, state):
    state["weight"] = x + 1
    return {}


def viewed(x):
    return x.view(2, 8), x.sum()


def arguments():
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(4, 4, generator=generator)
    return x, {"layer": {"weight": torch.randn(4, generator=generator), "unused": torch.zeros(2)}}, 0.5


@pytest.fixture
def kept_in(monkeypatch, tmp_path):
    """The folder of compiled code, which also keeps graphs of functions of this file."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(graphs, "is_known", lambda module: True)
    graphs.forget()
    yield tmp_path
    graphs.forget()


ELSEWHERE = """
import sys
import torch
from pathlib import Path
from plasticity_lab.agents import written_graph
from tests.agents.test_written_graph import arguments
graph, given = written_graph.load(Path(sys.argv[1])), arguments()
before = given[1]["layer"]["weight"]._version
found = graph(*given)
assert found.second["weight"] is given[1]["layer"]["weight"] and found.second["weight"]._version > before
torch.save([found.first, found.second["weight"], *found.second[3]], sys.argv[2])
assert not {"torch._dynamo.symbolic_convert", "torch._inductor.graph"} & sys.modules.keys(), "it imports the compiler"
"""


@needs_compiler
def test_another_process_calls_a_graph_without_the_compiler(kept_in):
    given = arguments()
    found = Compiled(moved, ["moved"])(*given)
    assert found.second["weight"] is given[1]["layer"]["weight"]
    expected, own = arguments(), [found.first, found.second["weight"], *found.second[3]]
    assert isinstance(found, Pair)
    eager = moved(*expected)
    for one, other in zip(own[:3], [eager.first, eager.second["weight"], eager.second[3][0]], strict=True):
        torch.testing.assert_close(one, other)
    (file,) = kept_in.glob("plasticity_lab/*.graph")
    moved_folder = kept_in.with_name("elsewhere")
    kept_in.rename(moved_folder)
    file, results = moved_folder / file.relative_to(kept_in), moved_folder / "results.pt"
    done = subprocess.run([sys.executable, "-c", ELSEWHERE, file, results], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *tensors, nothing = torch.load(results)
    assert nothing is None
    assert all(one.equal(other) for one, other in zip(own[:3], tensors, strict=True))


@needs_compiler
def test_a_graph_of_several_libraries_calls_the_kernels_of_each(kept_in, monkeypatch):
    """Each library has a function `kernel_0`. The second graph loads libraries that this process has loaded before."""
    monkeypatch.setattr("plasticity_lab.kernels.one_library.SOURCE", 1)
    eager = moved(*arguments())
    for _ in range(2):
        found = Compiled(moved, ["moved"])(*arguments())
        torch.testing.assert_close([found.first, found.second["weight"]], [eager.first, eager.second["weight"]])
        graphs.forget()
    assert len(list(kept_in.rglob("*.so"))) > 1


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("function", [replaced, viewed])
def test_what_a_trial_does_not_show_is_left_to_torch(function, kept_in):
    x, state = torch.arange(16.0), {"weight": torch.zeros(16)}
    given = (x, state) if function is replaced else (x,)
    for _ in range(2):
        found = Compiled(function, [function.__name__])(*given)
        assert found == {} or found[0].equal(x.view(2, 8))
        graphs.forget()
    assert function is viewed or state["weight"].equal(x + 1)
    (file,) = kept_in.glob("plasticity_lab/*.graph")
    assert written_graph.load(file) is None


@needs_compiler
@pytest.mark.slow
def test_a_graph_with_its_library_missing_is_compiled_again(kept_in):
    for _ in range(2):
        found = Compiled(moved, ["moved"])(*arguments())
        torch.testing.assert_close(found.first, moved(*arguments()).first)
        graphs.forget()
        for library in kept_in.rglob("*.so"):
            library.unlink()


@needs_compiler
@pytest.mark.slow
def test_a_folder_that_cannot_be_made_only_keeps_no_graph(kept_in, monkeypatch):
    (kept_in / "file").touch()
    monkeypatch.setattr(graphs, "_path", lambda known, arguments: kept_in / "file" / "folder" / "a.graph")
    torch.testing.assert_close(Compiled(moved, ["moved"])(*arguments()).first, moved(*arguments()).first)
