"""The one equation for tenants that no room knows: packed = alone = resumed, bit for bit, eager and compiled."""

import pytest

from tests.helpers.packs import needs_compiler
from tests.tenants.packs import BODIES, DIGITS, RESETS, differing, packs_of, trained

WIDTHS = (2, 3, 5, 6, 8, 12)


@pytest.mark.walk(1)
@pytest.mark.parametrize("words", [BODIES, (*BODIES, *RESETS), (*DIGITS, *RESETS)], ids=["agent", "both", "resets"])
def test_packed_alone_and_resumed_are_the_same(words):
    pack = packs_of(*words, "seed=3,1,0,2,4")
    packed = trained(pack)
    assert len({each["metrics"] for each in packed}) == len(pack)
    for place in (0, 1, 4):
        assert not differing(packed[place], trained([pack[place]])[0])
    resumed = trained(pack, stops=[1, 1, 2])
    assert not [name for k in range(len(pack)) for name in differing(packed[k], resumed[k])]


@pytest.mark.sample(2)
def test_what_the_runs_differ_in_reaches_each_run():
    """The agent's and the intervention's own numbers on the run axis."""
    pack = packs_of(*BODIES, *RESETS, "agent.clip=0.01,0.3", "intervention.share=0.1,0.5", "agent.gamma=0.5,0.99")
    assert len(pack) == 8
    packed = trained(pack)
    assert len({each["metrics"] for each in packed}) == 8
    assert not differing(packed[5], trained([pack[5]])[0])


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("words", [BODIES, (*BODIES, *RESETS, "activation=swish")], ids=["agent", "both"])
def test_compiled_a_run_is_the_same_alone_and_in_packs_of_six_widths(words):
    """Several updates with minibatches: exp and log must give the same bits in vector and in scalar code."""
    runs = packs_of(*words, "seed=range(12)")
    alone = trained(runs[:1], compiled=True)[0]
    for width in WIDTHS:
        assert not differing(alone, trained(runs[:width], compiled=True)[0]), f"in a pack of {width}"
