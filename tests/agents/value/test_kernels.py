"""Value agents whose layers our kernels compute: packed = alone = resumed, and the numbers of the other modes."""

import pytest
import torch

from tests.agents.value.packs import AGENTS, BY_AGENT, BY_KERNELS, advanced, begun, numbers
from tests.agents.value.test_heads import WALKED, WORDS, words_of
from tests.helpers.packs import needs_compiler, needs_kernels
from tests.tenants.packs import differing, hold_compiled, packs_of, trained

SHORT = ("benchmark.tasks=1", "benchmark.environment_steps=100")
BOARDS = {name: (*WORDS, f"agent={name}", *SHORT) for name in AGENTS}
OTHERS = {
    "batch of 7, three environments": (*BOARDS["rainbow"], "agent.batch=7", "agent.environments=3"),
    "strided, rrelu": (*BOARDS["rainbow"][:-2], *SHORT, "network=nature", "network.hidden=8", "activation=rrelu"),
    "redo": (*BOARDS["dqn"], "intervention=redo", "intervention.every=3"),
    "l2_init": (*BOARDS["dqn"], "intervention=l2_init"),
}

pytestmark = [needs_compiler, needs_kernels]


@pytest.mark.walk(2)
@pytest.mark.parametrize(("head", "tokens"), [*WALKED, ("dqn", "")])
def test_one_update_is_that_of_the_other_modes(head, tokens):
    """But for the last digits: sums are taken in another order."""
    words = BOARDS["dqn"] if head == "dqn" else (*words_of(head, tokens), *SHORT)
    words = (*words, "agent.min_history=99", "agent.epoch_steps=100", "agent.update_period=1", "seed=0,1")
    (plain, chunks), (ours, _) = (begun(packs_of(*words), kernels=kernels) for kernels in (False, True))
    before = numbers(plain)
    for learner in (plain, ours):
        advanced(learner, chunks)
    after = numbers(ours)
    for name, value in numbers(plain).items():
        torch.testing.assert_close(after[name], value, rtol=2e-3, atol=2e-6, msg=name)
    assert not all(torch.equal(value, before[name]) for name, value in after.items())


@pytest.mark.slow
@pytest.mark.parametrize("words", [*BOARDS.values(), BY_AGENT["dqn"], *OTHERS.values()], ids=[*BOARDS, "mlp", *OTHERS])
def test_so_it_is_in_packs_of_many_widths_and_resumed(words):
    hold_compiled((2, 3, 5, 8), *words, "benchmark.tasks=1", kernels=True, stops=[1])


@pytest.mark.slow
@pytest.mark.parametrize(("head", "tokens"), WALKED[1:])
def test_so_it_is_with_every_head(head, tokens):
    hold_compiled((2, 3), *words_of(head, tokens), *SHORT, kernels=True)


@pytest.mark.slow
def test_a_run_is_the_same_alone_and_in_a_pack():
    runs = packs_of(*BOARDS["dqn"], "seed=range(3)")
    assert not differing(trained(runs[2:], **BY_KERNELS)[0], trained(runs, **BY_KERNELS)[2])
