"""Training that an intervention leaves alone, and training that is saved and resumed: the same bits."""

import copy
import io
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, dropout

from plasticity_lab.errors import InputError
from plasticity_lab.outside import Plastic
from plasticity_lab.outside.plastic import names

NEVER: dict[str, dict[str, Any]] = {
    "redo": {"every": 10**6},
    "snr": {"strength": 0.0},
    "continual_backprop": {"strength": 0.0},
    "ccbp": {"every": 10**6},
    "selective_reinit": {"every": 10**6},
    "hare_tortoise": {"every": None},
    "shrink_and_perturb": {"every": 10**6},
    "reset_layers": {"every": 10**6},
    "fire": {},
    "weight_clipping": {"strength": 1e6},
}
OFTEN: dict[str, dict[str, Any]] = {
    "c_chain": {"first": 2, "window": 3},
    "ccbp": {"every": 4},
    "continual_backprop": {"strength": 0.1, "maturity": 2},
    "ewc": {"examples": 8},
    "hare_tortoise": {"every": 4},
    "nap": {"affine": "project"},
    "parseval": {"decoupled": True},
    "redo": {"every": 4, "strength": 0.7},
    "reset_layers": {"values": "birth", "layers": "all", "strength": 0.5, "every": 4},
    "selective_reinit": {"every": 4, "strength": 0.1},
    "snr": {"strength": 0.9, "min_age": 1, "min_count": 1, "epsilon": 0.5},
}
X, Y = torch.randn(24, 2, 6, 6, generator=torch.Generator().manual_seed(0)), torch.arange(24) % 3


class Noisy(nn.Module):
    """Activations in place, batch normalisation, and dropout, which draws from torch's generator."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.act = nn.Conv2d(2, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True)
        self.dense, self.second, self.out = nn.Linear(64, 8), nn.LayerNorm(8), nn.Linear(8, 3)

    def forward(self, x):
        h = dropout(self.act(self.norm(self.conv(x))), 0.1, self.training)
        return self.out(self.act(self.second(self.dense(h.flatten(1)))))


def begun(**more: Any) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.random.manual_seed(3)
    module = Noisy()
    return module, torch.optim.Adam(module.parameters(), lr=0.01, **more)


def steps(module, optimizer, first: int, last: int, keep: Plastic | None = None, tasks: bool = False) -> None:
    for count in range(first, last):
        torch.random.manual_seed(count)
        at = (torch.arange(8) + count * 5) % 24
        each = cross_entropy(module(X[at]), Y[at], reduction="none")
        optimizer.zero_grad()
        if keep is None:
            each.mean().backward()
        else:
            asked = {"loss": each, "second": X[at].flip(0)} if "c_chain" in keep.settings else {}
            (each.mean() + keep.penalty(**asked)).backward()
        optimizer.step()
        if keep is not None:
            keep.step()
            if tasks and count % 5 == 4:
                keep.task_ended(examples=(X, Y), coming=(X, Y))


def same(one: nn.Module, other: nn.Module) -> bool:
    return all(torch.equal(value, other.state_dict()[name]) for name, value in one.state_dict().items())


@pytest.mark.parametrize("name", NEVER)
def test_an_intervention_that_never_acts_leaves_training_as_it_is(name):
    count = 1000 if name == "redo" else 50
    module, optimizer = begun()
    steps(module, optimizer, 0, count)
    kept, trained = begun()
    steps(kept, trained, 0, count, Plastic(kept, trained, name, **NEVER[name]))
    assert same(module, kept)


@pytest.mark.parametrize("name", sorted(names.CLASSES.keys() - names.PRESETS.keys()))
def test_a_run_that_is_saved_and_resumed_has_the_bits_of_a_run_that_is_not(name):
    module, optimizer = begun()
    shown = {"example": X[:2]} if name == "nap" else {}
    keep = Plastic(module, optimizer, name, seed=5, **shown, **OFTEN.get(name, {}))
    steps(module, optimizer, 0, 7, keep, tasks=True)
    file = io.BytesIO()
    torch.save([module.state_dict(), optimizer.state_dict(), keep.state_dict()], file)
    steps(module, optimizer, 7, 16, keep, tasks=True)
    file.seek(0)
    saved = torch.load(file, weights_only=True)
    torch.random.manual_seed(99)
    again = Noisy()
    resumed = torch.optim.Adam(again.parameters(), lr=0.01)
    kept = Plastic(again, resumed, name, seed=5, **shown, **OFTEN.get(name, {}))
    for part, state in zip((again, resumed, kept), saved, strict=True):
        part.load_state_dict(state)
    early = kept.state_dict()
    assert early["updates"] == 7
    steps(again, resumed, 7, 16, kept, tasks=True)
    assert same(module, again)
    ended, reached = (each.state_dict()["state"] for each in (keep, kept))
    assert all(torch.equal(value, reached[key]) for key, value in ended.items())
    other, of_other = begun()
    steps(other, of_other, 0, 16, Plastic(other, of_other, "none"), tasks=True)
    assert same(module, other) == (name == "none")


def test_a_state_of_another_intervention_is_refused():
    keep = Plastic(*begun(), "redo")
    with pytest.raises(InputError, match=r"snr.*redo"):
        keep.load_state_dict(Plastic(*begun(), "snr").state_dict())


def test_a_copy_and_a_pickle_of_the_module_are_not_watched():
    module, optimizer = begun()
    keep = Plastic(module, optimizer, "redo", example=X[:2])
    twin = copy.deepcopy(module)
    stored = io.BytesIO()
    torch.save(module, stored)
    stored.seek(0)
    for each in (twin, torch.load(stored, weights_only=False)):
        each(X[:8])
        with pytest.raises(InputError, match="watched"):
            keep.step()
    module(X[:8])
    keep.step()


def test_the_first_pass_draws_no_random_numbers_and_keeps_statistics():
    module, optimizer = begun()
    before, state = copy.deepcopy(module), torch.random.get_rng_state()
    Plastic(module, optimizer, "redo", example=X[:2])
    assert same(before, module)
    assert torch.equal(state, torch.random.get_rng_state())
    assert module.training
    assert all(value.grad is None for value in module.parameters())
