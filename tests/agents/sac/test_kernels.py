"""SAC whose layers our kernels compute: packed = alone = resumed, and the numbers of the other modes."""

import pytest
import torch

from tests.agents.ppo.packs import there_are
from tests.agents.sac.packs import SMALL, begun, numbers
from tests.helpers.packs import needs_compiler, needs_kernels
from tests.tenants.packs import hold_compiled, packs_of

SHORT = (*SMALL, "benchmark.tasks=1", "benchmark.environment_steps=120")
OTHERS = {
    "relu": (),
    "rrelu, batch of 7": ("activation=rrelu", "agent.batch=7"),
    "three environments": ("agent.environments=3", "agent.min_history=60", "benchmark.environment_steps=150"),
    "redo": ("intervention=redo", "intervention.every=3"),
    "l2_init": ("intervention=l2_init",),
    "actor's own rate null": ("agent.actor_lr=null", "agent.policy_period=3"),
}

pytestmark = [needs_compiler, needs_kernels]


@pytest.fixture(autouse=True)
def with_made_up_bodies(monkeypatch):
    there_are(monkeypatch)


@pytest.mark.walk(1)
@pytest.mark.parametrize("words", [(), ("intervention=l2_init",)], ids=["fused", "with gradients"])
def test_updates_are_those_of_the_other_modes(words):
    """But for the last digits: sums are taken in another order."""
    (plain, chunks), (ours, _) = (
        begun(packs_of(*SHORT, *words, "agent.min_history=100", "seed=0,1"), kernels=kernels)
        for kernels in (False, True)
    )
    before = numbers(plain)
    for learner in (plain, ours):
        for chunk in chunks:
            learner.advance(chunk)
    after = numbers(ours)
    for name, value in numbers(plain).items():
        torch.testing.assert_close(after[name], value, rtol=2e-3, atol=1e-5, msg=name)
    assert not all(torch.equal(value, before[name]) for name, value in after.items())


@pytest.mark.slow
@pytest.mark.parametrize("words", OTHERS.values(), ids=OTHERS)
def test_so_it_is_in_packs_of_many_widths(words):
    hold_compiled((2, 3, 5, 8), *SHORT, *words, kernels=True, stops=[1])
