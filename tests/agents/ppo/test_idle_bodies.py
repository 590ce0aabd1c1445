"""While one body is trained, the others' adapters, heads and moments do not move at all, under any intervention."""

from pathlib import Path

import pytest
import torch

from plasticity_lab.assembly import assembled, resources
from plasticity_lab.records.rows import Position
from tests.agents.ppo.packs import BOTH, numbers, there_are
from tests.helpers.packs import CPU, interventions_under
from tests.tenants.packs import RESETS, packs_of

MORE = {"nap": ("network.norm=layer", "intervention.biases=keep")}
"""Settings without which an intervention refuses this network, or keeps some of its parameters in place."""
WORDS = [*((f"intervention={name}", *MORE.get(name, ())) for name in interventions_under("ppo")), RESETS]
OF_SLOPES = [("intervention=none",), ("intervention=l2_init",), RESETS]
"""For parameters of the activation, in each adapter too: by gradients, towards their start, with their units."""


def taught(learner, task) -> None:
    """Learns a whole task, with what interventions and optimizer do at its end."""
    learner.begin(task, fresh=True)
    for chunk in task.chunks(Position(task.position, 0)):
        learner.advance(chunk)
    learner.evaluate(task)
    learner.end(task)


def everything(learner) -> dict[str, torch.Tensor]:
    """Parameters, moments and what the intervention keeps, copied."""
    return numbers(learner) | {f"kept {name}": value.clone() for name, value in learner.network.kept.items()}


@pytest.mark.walk(4)
@pytest.mark.parametrize(
    ("words", "activation"), [*((words, "relu") for words in WORDS), *((words, "prelu") for words in OF_SLOPES)]
)
def test_what_belongs_to_idle_bodies_does_not_move_and_is_met_again_as_it_was_left(monkeypatch, words, activation):
    there_are(monkeypatch)
    own = () if activation == "relu" else ("activation.scope=layer",)
    runs = packs_of(*BOTH, "benchmark.environment_steps=64", *words, "seed=0,1", f"activation={activation}", *own)
    stream, learner = assembled(runs, resources(Path())(runs[0]), CPU, False)
    for position, (active, idle) in enumerate([("sliders", "chosen"), ("chosen", "sliders"), ("sliders", "chosen")]):
        before = everything(learner)
        taught(learner, stream.task(position))
        after = everything(learner)
        assert after.keys() == before.keys()
        moved = {name for name, value in after.items() if not torch.equal(value, before[name])}
        of_idle = {name for name in before if name.rpartition(" ")[2].startswith(f"{idle}.")}
        assert len(of_idle) >= 3 * 6
        assert not moved & of_idle
        of_others = {name for name in before if not name.startswith(("kept ", "frozen."))} - of_idle
        assert of_others <= moved, "trunk and active body have learned"
        assert any(name.startswith(f"{active}.") for name in moved)
