"""Whose noise it is, in each pass of a noisy agent: that of an example, or of all examples of the pass.

Source: `train` of Dopamine's dopamine/labs/moes/agents/full_rainbow_moe_agent.py. Its loss is a vmap over states and
keys, one key for each state; its `target_output` is a vmap over next states with one key for all.
"""

import pytest
import torch

from launch.command import resolve
from plasticity_lab.agents.value.step import MEASURED
from plasticity_lab.agents.value.targets import inputs
from tests.agents.value.packs import BY_AGENT, advanced, begun
from tests.helpers.packs import CPU
from tests.tenants.packs import packs_of

RAINBOW = (*BY_AGENT["rainbow"], "agent.environments=3", "seed=0,1")
NOISY_DQN = (*BY_AGENT["dqn"], "agent.noisy=true", "agent.environments=3", "agent.epsilon_start=0.5", "seed=0,1")
EXPERTS = ("network=small_nature", "network.hidden=16", "head=softmoe", "head.experts=2")
PACKS = {
    "rainbow": RAINBOW,
    "experts": (*(word for word in RAINBOW if not word.startswith("network")), *EXPERTS),
    "normed": (*RAINBOW, "network.norm=layer"),
    "dqn": NOISY_DQN,
}


def alike(rows: torch.Tensor) -> bool:
    """Whether all rows (K, B, ...) of each run have the same numbers."""
    return torch.allclose(rows, rows[:, :1].expand_as(rows), rtol=1e-5, atol=1e-6)


@pytest.mark.walk(2)
@pytest.mark.parametrize("scope", ["sample", "batch"])
@pytest.mark.parametrize("pack", PACKS)
def test_one_noise_for_all_next_states_and_the_scopes_for_the_states_and_for_acting(pack, scope, monkeypatch):
    """Of examples that are equal the targets are equal, whatever the scope; their own values differ by noise alone."""
    learner, chunks = begun(packs_of(*PACKS[pack], f"agent.noise_scope={scope}"))
    advanced(learner, chunks[: len(chunks) // 2])
    network, found = learner.network, list[torch.Tensor]()
    for name in ("values", "projected"):
        really = getattr(inputs, name)
        monkeypatch.setattr(inputs, name, lambda *given, really=really: found.append(really(*given)) or found[-1])
    batch = learner.memory.batch(learner.memory.drawn(network.updates), CPU)
    equal = {name: x[:, :1].expand_as(x).clone() if x.dim() > 1 else x for name, x in batch.items()}
    equal["discount"] = torch.full_like(equal["discount"], 0.9)
    rows = {**network.corrections(1), "updates": torch.arange(1) + network.updates}
    now = network.train_state, learner.target.parameters, network.settings, learner.keys
    learner.step(*now, equal, rows, learner.measured.tensor, learner.measured.at[0])
    (target,) = found
    assert target.std() > 0, "of two runs"
    assert alike(target)
    assert alike(learner.measured.tensor[0, MEASURED.index("q")]) == (scope == "batch")
    shown = learner.environments.observations
    shown[:] = shown[:, :1]
    acting = torch.from_numpy(learner.acting(shown, 7)["q"])
    assert alike(acting) == (scope == "batch")


def test_ids_are_new_where_examples_have_noise_of_their_own_and_nowhere_else():
    """What the ids were before targets had one noise for all examples: `agent=rainbow` and `der` have others now."""

    def id_of(*words: str) -> str:
        return resolve(["benchmark=catch", "seed=0", *words]).runs[0].id

    before = {
        "agent=rainbow agent.noise_scope=batch": "bdef90de54a2",
        "agent=rainbow agent.noisy=false": "1b704766a1a2",
        "agent=rainbow_lite": "8b84b8d57c72",
        "agent=dqn": "08bcfb6e247d",
    }
    assert {words: id_of(*words.split()) for words in before} == before
    assert id_of("agent=rainbow") != "dbae807a003e"
    assert id_of("agent=der") != "8943ffbe16fb"
    assert id_of("agent=dqn", "agent.noisy=true") != "82043a7ae267"
