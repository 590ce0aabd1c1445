"""Work of torch's compiler that is left out, and code that stays the same."""

import pytest
import torch
from torch import Tensor

from plasticity_lab.agents import torch_compiler
from tests.helpers.packs import needs_compiler


def sums(x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, ...]:
    """Loops with and without a remainder after whole vectors, also of squares of a matrix and its transpose."""
    return x.exp() * 3, y.exp() * y, y.T + z, (x.T * 2 + 1).sum(0), (z * y.T).sum(0), (z * y.T).sum(1)


@needs_compiler
def test_the_code_of_a_graph_is_the_same_and_fewer_loops_are_written(monkeypatch):
    from torch._inductor.scheduler import SchedulerNode
    from torch._inductor.utils import fresh_cache

    from plasticity_lab.kernels import repeated_work
    from plasticity_lab.kernels.one_library import compiled_later

    written: list[object] = []

    def code() -> list[object]:
        written.clear()
        torch._dynamo.reset()
        with fresh_cache(), compiled_later() as graphs:
            torch_compiler.compiled(sums, [torch.ones(32, 64), torch.ones(2, 32), torch.ones(32, 2)])
        return list(graphs[0].kernels)

    repeated_work.leave_out()
    places = [(owner, name) for owner, name, _ in repeated_work.CHANGES]
    changed = [place for place in places if hasattr(getattr(*place), "__wrapped__")]
    assert len(changed) == len(places) - 1  # all but a class
    by_torch = SchedulerNode.codegen.__wrapped__

    def counted(*given: object) -> None:
        written.append(given)
        by_torch(*given)

    with monkeypatch.context() as patched:
        for owner, name in changed:
            patched.setattr(owner, name, getattr(owner, name).__wrapped__)
        patched.setattr(SchedulerNode, "codegen", counted)
        expected, all_loops = code(), len(written)
    monkeypatch.setattr(SchedulerNode, "codegen", repeated_work.without_empty_loops(counted))
    assert code() == expected
    assert 0 < len(written) < all_loops


def test_the_source_of_a_function_is_read_once_for_all_graphs():
    from torch._dynamo.package import SourceInfo

    from plasticity_lab.kernels.repeated_work import sources_read_once

    read = []

    def add_code(info, code):
        read.append(code)
        info.inlined_sources.add(f"{code.co_filename} {code.co_name}")

    add = sources_read_once(add_code)
    twins = [compile("1", name, "exec") for name in ("a", "b")]
    infos = [SourceInfo(set()) for _ in range(2)]
    for info in infos:
        for code in (*twins, *twins):
            add(info, code)
    assert [info.inlined_sources for info in infos] == [{"a <module>", "b <module>"}] * 2
    assert len(read) == 2


def test_a_template_is_read_when_it_is_used():
    from plasticity_lab.kernels.repeated_work import templates_read_when_used

    read = []
    template = templates_read_when_used(lambda source: read.append(source) or source).__func__("text")
    assert read == []
    assert template.upper() == "TEXT"


@pytest.mark.parametrize(
    ("tails", "empty"), [((None, None), False), ((0, None), True), ((2, None), False), ((0, 2), False), ((2, 0), True)]
)
def test_the_code_after_a_loop_is_written_if_only_its_inner_loop_is_empty(tails, empty):
    from torch._inductor.codegen.cpp import CppTile2DKernel

    from plasticity_lab.kernels.repeated_work import is_empty

    kernel = CppTile2DKernel.__new__(CppTile2DKernel)
    kernel.inner_tail_size, kernel.outer_tail_size = tails
    assert is_empty(kernel) == empty
