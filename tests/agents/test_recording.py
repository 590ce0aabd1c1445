"""Functions that are recorded for torch's compiler by running them, and those that need Dynamo."""

import sys
from types import ModuleType

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_flatten

from plasticity_lab.agents import graphs, torch_compiler, written_graph
from plasticity_lab.agents.compiled import Compiled
from plasticity_lab.agents.recording import NotRecorded, Run
from tests.helpers.packs import needs_compiler

TABLE = torch.linspace(-1, 1, 40)
TOTAL = torch.zeros(40)


def recorded(function, *arguments):
    """The function after a run on tensors without numbers."""
    leaves, structure = tree_flatten(arguments)
    run = Run(function, leaves, structure)
    with FakeTensorMode(allow_non_fake_inputs=True) as without_numbers:
        run(*[without_numbers.from_tensor(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)])
    return run


def test_code_is_noted_although_it_has_no_operation_of_its_own(monkeypatch):
    theirs = ModuleType("theirs")
    exec(compile("def factor():\n    return 2.0\n", "theirs.py", "exec"), theirs.__dict__)
    before = sys.gettrace()
    run = recorded(lambda x: x * theirs.factor(), torch.ones(3))
    assert {"theirs", __name__} <= run.modules
    assert {module for module in run.modules if not graphs.is_known(module)} <= {"theirs", __name__, "tests"}
    assert sys.gettrace() is before


def test_it_runs_as_compiled_code_and_its_result_keeps_all_but_tensors():
    said = []

    def function(x, named):
        said.append(torch.compiler.is_compiling())
        return {"x": x + 1, "name": named["name"], "none": None}

    run = recorded(function, torch.ones(3), {"name": "a"})
    assert said == [True]
    assert not torch.compiler.is_compiling()
    x = torch.zeros(3)
    assert run.result_of([x]) == {"x": x, "name": "a", "none": None}


def test_other_objects_in_an_argument_are_not_part_of_a_graph():
    def function(x, state):
        state["x"] = x + 1

    with pytest.raises(NotRecorded):
        recorded(function, torch.ones(3), {"x": torch.zeros(3)})


def changing(x):
    TOTAL.add_(x.sum(dim=0))
    return x * TABLE


def reading(x):
    return x * TABLE.view(1, 40) + TABLE.flip(0)


def branching(x):
    return x if x.sum() > 0 else -x


@needs_compiler
@pytest.mark.slow
def test_its_own_tensors_are_in_the_graph_unless_it_changes_them(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(graphs, "is_known", lambda module: True)
    x = torch.ones(3, 40)
    for _ in range(2):
        graphs.forget()
        assert torch.equal(Compiled(reading, ["reading"])(x), reading(x))
    (file,) = tmp_path.glob("plasticity_lab/*.graph")
    assert written_graph.load(file) is not None
    assert torch.equal(Compiled(changing, ["changing"])(x), x * TABLE)
    assert TOTAL.eq(3).all()


@needs_compiler
@pytest.mark.slow
def test_what_no_graph_can_do_is_said_by_torch():
    assert torch_compiler.recorded(branching, [torch.ones(3)]) is None
    with pytest.raises(Exception, match="Data-dependent branching"):
        Compiled(branching, ["branching"])(torch.ones(3))
