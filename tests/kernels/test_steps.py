"""Steps over whole tensors by our kernels: the bits of the composed operations that compiled code has without them.

Legend: K runs, 3 of them.
"""

from functools import partial

import pytest
import torch

from plasticity_lab.agents.graphs import graph_of
from plasticity_lab.agents.target_network import follow
from plasticity_lab.kernels import operators
from plasticity_lab.kernels.through import prepare
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.adamw import AdamW
from plasticity_lab.stacking.optimizer import for_kernel
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.packs import needs_compiler, needs_kernels

pytestmark = [needs_kernels, needs_compiler]
SHAPES = {"one": (3,), "odd": (3, 7, 5), "vectors": (3, 4, 16), "long": (3, 1, 4001)}
ENDS = [0.0, -0.0, torch.inf, -torch.inf, torch.nan, 1e-40, -1e-40, 3e38, -3e38, 1e-20, 1.0]
ADAM = [Adam(lr=0.01), Adam(lr=0.1, beta1=0.0, epsilon=1e-3), Adam(lr=1e-4, beta1=0.5, beta2=0.9)]
ADAMW = [AdamW(lr=0.01), AdamW(lr=0.1, weight_decay=0.0), AdamW(lr=0.3, beta1=0.5, weight_decay=2.0)]
OPERATORS = "adam", "follow", "table"
OPTIMIZERS = pytest.mark.parametrize("runs", [ADAM, ADAMW], ids=["adam", "adamw"])


@pytest.fixture(autouse=True)
def served(monkeypatch):
    """The kernels serve calls outside of graphs too, so that a test needs no compiler of torch."""
    prepare()
    monkeypatch.setattr(operators, "serve", lambda x: True)


@pytest.fixture
def exact_roots(monkeypatch):
    """Square roots rounded as in compiled code; in eager mode torch may be off by a bit."""
    monkeypatch.setattr(torch.Tensor, "sqrt", lambda x: x.double().pow(0.5).float())


def drawn(seed: int, positive: bool = False) -> dict[str, torch.Tensor]:
    """Numbers of very different sizes, with all of `ENDS` in the last tensor."""
    draw = torch.Generator().manual_seed(seed)
    found = {name: torch.randn(shape, generator=draw) for name, shape in SHAPES.items()}
    found = {name: values * 10.0 ** (4 * torch.randn(values.shape, generator=draw)) for name, values in found.items()}
    count = len(ENDS) ** 2
    ends = torch.tensor(ENDS).repeat(len(ENDS)) if seed % 2 else torch.tensor(ENDS).repeat_interleave(len(ENDS))
    found["long"][1, 0, :count] = ends
    return {name: values.abs() if positive else values for name, values in found.items()}


def stepped(runs: list[Adam], step: str, steps: int = 3, layout=lambda x: x) -> list[torch.Tensor]:
    """Parameters and moments after some steps, from drawn ones."""
    cls = type(runs[0])
    settings = on_run_axis(runs, dtype=torch.float64)
    parameters, moments = drawn(0), {"first": drawn(1), "second": drawn(2, positive=True)}
    corrections = cls().corrections(settings, 5, steps)
    for s in range(steps):
        gradients = {name: layout(value) for name, value in drawn(3 + s).items()}
        now = {name: rows[s] for name, rows in corrections.items()}
        getattr(cls(), step)(parameters, gradients, moments, settings, now)
    return [value for of in (parameters, *moments.values()) for value in of.values()]


def turned(x: torch.Tensor) -> torch.Tensor:
    """The same numbers in another layout of the memory."""
    return x.transpose(0, -1).contiguous().transpose(0, -1)


def differ(found: list[torch.Tensor], expected: list[torch.Tensor]) -> bool:
    """Whether any bits differ, except for bits within a nan."""
    pairs = list(zip(found, expected, strict=True))
    same = [torch.where(a.isnan(), b.isnan(), a.view(torch.int32) == b.view(torch.int32)) for a, b in pairs]
    return not all(bool(each.all()) for each in same)


@OPTIMIZERS
@pytest.mark.parametrize("layout", [lambda x: x, turned], ids=["in one piece", "turned"])
def test_adams_steps_are_the_composed_ones_bit_for_bit(runs, layout, exact_roots):
    expected = stepped(runs, "composed")
    assert not differ(stepped(runs, "by_kernel", layout=layout), expected)
    assert differ(stepped(runs, "by_kernel", steps=2), expected)
    assert any(value.isnan().any() for value in expected)
    assert not all(value.isnan().any() for value in expected)


def test_slices_with_own_ages_are_runs(exact_roots):
    settings, draw = on_run_axis(ADAM, dtype=torch.float64), torch.Generator().manual_seed(0)
    start, gradient, first = (torch.randn(3, 2, 5, 3, generator=draw) for _ in range(3))
    ages, found = {"w": torch.tensor([[0, 7], [30, 1], [2, 50_000]])}, []
    by_step = Adam().corrections(settings, 1, 40)
    for step in ("by_kernel", "composed"):
        own = Adam()
        own.update = getattr(own, step)
        values = [start.clone(), first.clone(), first.square()]
        moments = {"first": {"w": values[1]}, "second": {"w": values[2]}}
        own.update_slices({"w": values[0]}, {"w": gradient}, moments, settings, by_step, ages)
        found.append(values)
    assert not differ(*found)
    assert differ(found[0], [start, first, first.square()])


def test_a_target_follows_by_the_composed_operations_bit_for_bit(monkeypatch):
    online, tau = drawn(0), torch.tensor([0.005, 0.3, 1.0])
    found = []
    for serves in (True, False):
        monkeypatch.setattr(operators, "serve", lambda x, serves=serves: serves)
        target = drawn(1)
        follow(target, {name: turned(value) for name, value in reversed(online.items())}, tau)
        found.append(list(target.values()))
    assert not differ(*found)
    assert differ(found[0], list(drawn(1).values()))


def test_a_table_has_the_numbers_of_each_run_as_float32(monkeypatch):
    wide = torch.tensor([1 / 3, 1e-46, torch.inf, 0.999], dtype=torch.float64)
    given = wide, torch.randn(4), 1 - wide, wide.float(), torch.full((1,), 0.1, dtype=torch.float64).expand(4)
    found = for_kernel(*given)
    assert torch.equal(found, torch.stack([each.float() for each in given], dim=1))
    monkeypatch.setattr(operators, "serve", lambda x: False)
    assert torch.equal(found, for_kernel(*given))


def test_tensors_that_do_not_match_are_refused():
    kernels, some = torch.ops.plasticity_lab, torch.ones(3, 4)
    with pytest.raises(RuntimeError, match="each run"):
        kernels.adam(torch.ones(2, 7), [some], [some], [some], [some])
    with pytest.raises(RuntimeError, match="like each other"):
        kernels.adam(torch.ones(3, 7), [some], [some], [some], [torch.ones(3, 5)])
    with pytest.raises(RuntimeError, match="one length"):
        kernels.adam(torch.ones(3, 7), [some], [some, some], [some], [some])
    with pytest.raises(RuntimeError, match="one piece"):
        kernels.follow(torch.ones(3), [some], [turned(some)])
    with pytest.raises(RuntimeError, match="each run"):
        kernels.table([torch.ones(3), torch.ones(4)])


def step(parameters, target, gradients, moments, settings, now, tau):
    """What an update does with whole tensors."""
    AdamW().update(parameters, gradients, moments, settings, now)
    follow(target, parameters, tau)


def test_compiled_steps_call_the_kernels_and_keep_their_bits(monkeypatch):
    monkeypatch.undo()  # they serve graphs alone
    settings, called = on_run_axis(ADAMW, dtype=torch.float64), []
    now = {name: rows[0] for name, rows in AdamW().corrections(settings, 5, 1).items()}

    def taken() -> list[torch.Tensor]:
        parameters, first, second, target = values = [drawn(seed, positive=seed == 2) for seed in range(4)]
        moments = {"first": first, "second": second}
        given = parameters, target, drawn(4), moments, settings, now, torch.full((3,), 0.1)
        compiled = graph_of(step, None, given)
        with torch.profiler.profile(acc_events=True) as profile:
            compiled(*given)
        called.append({event.name for event in profile.events()} & {f"plasticity_lab::{name}" for name in OPERATORS})
        return [value for of in values for value in of.values()]

    by_kernels = taken()
    monkeypatch.setattr(operators, "serve", lambda x: False)
    assert not differ(by_kernels, taken())
    assert [len(each) for each in called] == [len(OPERATORS), 0]


def test_a_subclass_with_another_step_inherits_no_kernel():
    class Composed(Adam):
        composed = partial(Adam.composed)

    class Same(AdamW):
        moments = AdamW.moments

    assert Composed.kernel is Composed.kernel_of_tensors is None
    assert Same.kernel == AdamW.kernel == Adam.kernel is not None
    assert Same.kernel_of_tensors == AdamW.kernel_of_tensors == Adam.kernel_of_tensors is not None
