"""The second batch of an update: the same data as the first batch, under another key."""

import numpy as np
import pytest
import torch

from plasticity_lab.agents.update import SECOND
from plasticity_lab.assembly import assembled
from plasticity_lab.records.rows import Position
from tests.agents.ppo.packs import ONE, there_are
from tests.agents.ppo.packs import begun as ppo
from tests.agents.value.packs import BY_AGENT
from tests.agents.value.packs import begun as value
from tests.helpers.packs import CPU, choice, images, run
from tests.tenants.packs import packs_of

STREAM = {"images": 61, "tasks": 1, "epochs": 2, "batch_size": 16}


@pytest.mark.parametrize("agent", ["dqn", "rainbow"])
def test_a_memory_is_drawn_from_again(agent):
    """With uniform and with prioritised replay: other steps, and the first batch is as without."""
    learner, chunks = value(packs_of(*BY_AGENT[agent], "intervention=c_chain_dqn", "seed=0,1"))
    for chunk in chunks[:1]:
        learner.advance(chunk)
    memory = learner.memory
    first, second, again = memory.drawn(3), memory.drawn(3, "second "), memory.second(3, CPU)
    for k in range(2):
        assert first.step[k].tolist() != second.step[k].tolist()
    assert first.step[0].tolist() != first.step[1].tolist()
    torch.testing.assert_close(again, memory.batch(second, CPU)["x"])
    assert memory.drawn(4, "second ").step.tolist() != second.step.tolist()


def test_a_rollout_is_shuffled_again_for_each_pass(monkeypatch):
    there_are(monkeypatch)
    learner, chunks = ppo(packs_of(*ONE, "intervention=c_chain", "seed=0,1"))
    seen = learner.actor.rollout(chunks[0].first)
    of, seeds = learner.minibatches, learner.parts.init_seeds
    without = of.tables(seen, learner.on_host, seeds, 0)[1]
    each = of.tables(seen, learner.on_host, seeds, 0, second=True)[1]
    assert torch.equal(each["pick"], without["pick"])
    assert "second pick" not in without
    for passed in each["second pick"].unflatten(0, (of.passes, -1)):
        rows = passed.transpose(0, 1).flatten(1).sort(dim=1).values
        assert torch.equal(rows, torch.arange(2 * of.rows).view(2, -1))
    orders = {tuple(each[name].unflatten(0, (of.passes, -1))[at, :, 0].flatten().tolist())
              for name in ("pick", "second pick") for at in range(of.passes)}  # fmt: skip
    assert len(orders) == 2 * of.passes


def test_images_are_shuffled_again_in_each_epoch():
    """A chunk that begins within an epoch has the same second batches as the whole epoch."""
    runs = [run(seed, intervention=choice("intervention", "c_chain"), **STREAM) for seed in (0, 1)]
    stream, learner = assembled(runs, images(8, 61, 20), CPU, False)
    task = stream.task(0)
    learner.begin(task, fresh=True)

    def taken(after: Position) -> np.ndarray:
        tables = [learner._tables(chunk, {})[SECOND][: chunk.steps] for chunk in task.chunks(after)]
        return torch.cat(tables).numpy()

    whole = taken(Position(0, 0))
    assert np.array_equal(taken(Position(0, 2)), whole[2:])
    epochs = whole.reshape(2, 4, 2, 16)
    for epoch in epochs:
        for k in range(2):
            numbers = epoch[:, k].flatten()[:61]
            assert len({*numbers.tolist()}) == 61
    assert not np.array_equal(epochs[0], epochs[1])
    first = next(iter(task.chunks(Position(0, 0))))
    assert not np.array_equal(first.images[0], epochs[0][:, 0])
