"""The one equation for tenants that no room knows: packed = alone = resumed, bit for bit, eager and compiled."""

import pytest

from tests.helpers.packs import needs_compiler
from tests.tenants.packs import BODIES, DIGITS, RESETS, hold, hold_compiled


@pytest.mark.walk(1)
@pytest.mark.parametrize("words", [BODIES, (*BODIES, *RESETS), (*DIGITS, *RESETS)], ids=["agent", "both", "resets"])
def test_packed_alone_and_resumed_are_the_same(words):
    hold(*words, "seed=3,1,0,2,4", stops=[1, 1, 2])


@pytest.mark.sample(2)
def test_what_the_runs_differ_in_reaches_each_run():
    """The agent's and the intervention's own numbers on the run axis."""
    hold(*BODIES, *RESETS, "agent.clip=0.01,0.3", "intervention.share=0.1,0.5", "agent.gamma=0.5,0.99")


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("words", [BODIES, (*BODIES, *RESETS, "activation=swish")], ids=["agent", "both"])
def test_compiled_a_run_is_the_same_alone_and_in_packs_of_six_widths(words):
    """Several updates with minibatches: exp and log must give the same bits in vector and in scalar code."""
    hold_compiled((2, 3, 5, 6, 8, 12), *words)
