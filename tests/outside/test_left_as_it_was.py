"""A measurement leaves everything as it was: the module with all its parts, and the random number generators."""

import random  # noqa: TID251 (its state is looked at)

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from plasticity_lab.errors import InputError
from plasticity_lab.outside import measure


class Everything(nn.Module):
    """Batch normalisation, dropout, state in attributes and in a buffer, hooks of all kinds, a renormed embedding."""

    def __init__(self):
        super().__init__()
        self.fc1, self.norm, self.drop = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.5)
        self.embedding, self.fc2, self.last, self.seen = nn.Embedding(5, 6, max_norm=0.1), nn.Linear(6, 3), None, []
        self.register_buffer("calls", torch.zeros(()))
        self.called = {"forward": 0, "backward": 0}
        self.fc1.register_forward_hook(lambda own, given, made: self.called.update(forward=self.called["forward"] + 1))
        self.fc2.register_full_backward_hook(lambda *_: self.called.update(backward=self.called["backward"] + 1))
        self.fc1.weight.register_hook(lambda gradient: self.called.update(backward=self.called["backward"] + 1))

    def forward(self, x):
        self.last = torch.relu(self.drop(self.norm(self.fc1(x))) + self.embedding(x[:, 0].abs().long().clamp(max=4)))
        self.seen.append(self.last)
        self.calls += 1
        return self.fc2(self.last)


def trained():
    """A module in the middle of its training, and its data."""
    torch.default_generator.manual_seed(0)
    module, x, y = Everything(), torch.randn(20, 4), torch.arange(20) % 3
    module.norm.eval()
    loss = nn.functional.cross_entropy(module(x), y)
    loss.backward()
    return module, x, y


def state(module):
    """All that can be compared."""
    values = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    return {
        "values": {name: (id(value), value.detach().tolist()) for name, value in values.items()},
        "gradients": {name: (id(value.grad), value.grad.tolist()) for name, value in module.named_parameters()},
        "modes": [own.training for own in module.modules()],
        "hooks": [[(name, [*map(id, hooks)]) for name, hooks in vars(own).items() if name.endswith("hooks")]
                  for own in module.modules()],
        "attributes": [{name: id(value) for name, value in vars(own).items()} for own in module.modules()],
        "own": ([*map(id, module.seen)], dict(module.called)),
        "generators": (torch.get_rng_state().tolist(), np.random.get_state()[1].tolist(), random.getstate()),  # noqa: NPY002
    }  # fmt: skip


def test_everything_is_as_it_was_also_behind_a_refusal():
    module, x, y = trained()
    loader = DataLoader(TensorDataset(x, y), batch_size=6, shuffle=True)

    def data():
        """Augmented as people do it."""
        for images, labels in loader:
            yield images + random.random() * np.random.rand(), labels  # noqa: NPY002

    before = state(module)
    assert measure(module, data())["dead_units"] >= 0
    assert state(module) == before
    with pytest.raises(InputError):
        measure(module, data(), loss=nn.functional.cross_entropy)
    assert state(module) == before


def test_a_step_of_training_behind_a_measurement_is_the_step_without_it():
    def stepped(measures):
        module, x, y = trained()
        optimizer = torch.optim.Adam(module.parameters())
        for _ in range(3):
            if measures:
                measure(module, [(x, y)], ["dead_units", "grama", "curvature"])
            optimizer.zero_grad()
            nn.functional.cross_entropy(module(x), y).backward()
            optimizer.step()
        return module.state_dict()

    with torch.random.fork_rng():
        ours, theirs = stepped(True), stepped(False)
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())


def test_a_graph_that_the_user_still_needs_can_be_differentiated_afterwards():
    module, x, y = trained()
    loss = nn.functional.cross_entropy(module(x), y)
    measure(module, [(x, y)], ["dead_units"])
    loss.backward()
