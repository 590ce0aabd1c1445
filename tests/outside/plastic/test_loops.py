"""Loops of other kinds: compiled modules, mixed precision, methods other than forward, several processes."""

from typing import Any

import pytest
import torch
from torch import distributed, multiprocessing, nn
from torch.distributions import Categorical
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from plasticity_lab.errors import InputError
from plasticity_lab.outside import Plastic, measure
from tests.helpers.packs import needs_compiler

X, Y = torch.randn(16, 6, generator=torch.Generator().manual_seed(0)), torch.arange(16) % 3


def network() -> nn.Module:
    torch.random.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))


def begun(name: str, *, example: Any = None, **settings: Any) -> tuple[nn.Module, torch.optim.Optimizer, Plastic]:
    module = network()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    return module, optimizer, Plastic(module, optimizer, name, example=example, **settings)


def weights(module: nn.Module) -> list[torch.Tensor]:
    return [value.detach().clone() for value in module.parameters()]


def after(steps: int, module: nn.Module, optimizer: Any, keep: Plastic, called: Any = None) -> list[torch.Tensor]:
    for _ in range(steps):
        optimizer.zero_grad()
        (cross_entropy((called or module)(X), Y) + keep.penalty()).backward()
        optimizer.step()
        keep.step()
    return weights(module)


@needs_compiler
@pytest.mark.slow
def test_a_compiled_module_is_one_graph_with_its_intervention():
    """Activations come from a pass of the module itself; the hooks leave no break in the graph."""
    wanted = after(4, *begun("l2_init", example=X, strength=0.1))
    module, optimizer, keep = begun("l2_init", example=X, strength=0.1)
    for one, other in zip(
        after(4, module, optimizer, keep, torch.compile(module, fullgraph=True)), wanted, strict=True
    ):
        torch.testing.assert_close(one, other)
    wanted = after(6, *begun("redo", every=3, strength=0.5))
    module, optimizer, keep = begun("redo", example=X, every=3, strength=0.5)
    compiled = torch.compile(module, fullgraph=True)
    compiled(X)
    with pytest.raises(InputError, match=r"torch\.compile"):
        keep.step()

    def called(x):
        with torch.no_grad(), keep.watch():
            module(x)
        return compiled(x)

    for one, other in zip(after(6, module, optimizer, keep, called), wanted, strict=True):
        torch.testing.assert_close(one, other)
    assert keep.measured()["resets"] > 0


def test_mixed_precision_hands_over_float32():
    module, optimizer, keep = begun("redo", every=2, strength=0.6)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(4):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = cross_entropy(module(X), Y) + keep.penalty()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        keep.step()
    sizes = keep.state_dict()["state"]
    assert sizes["0.size"].dtype == torch.float32
    assert keep.measured()["resets"] > 0
    low = network().bfloat16()
    trained = torch.optim.SGD(low.parameters(), lr=0.1)
    kept = Plastic(low, trained, {"redo": {"every": 1, "strength": 0.6}, "l2_init": {}})
    (cross_entropy(low(X.bfloat16()), Y) + kept.penalty()).backward()
    trained.step()
    kept.step()
    assert low[0].weight.dtype == torch.bfloat16
    assert kept.measured()["resets"] > 0


class Agent(nn.Module):
    """As CleanRL's PPO: a module without a forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
        self.actor = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))

    def get_action_and_value(self, x, action=None):
        policy = Categorical(logits=self.actor(x))
        action = policy.sample() if action is None else action
        return action, policy.log_prob(action), policy.entropy(), self.critic(x)


def test_a_method_other_than_forward_is_watched_by_hand():
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters())
    keep = Plastic(agent, optimizer, "redo", every=1, strength=1e9)
    for _ in range(2):
        agent.get_action_and_value(X)  # a rollout
        with keep.watch():
            _, log, entropy, value = agent.get_action_and_value(X, Y)
        (value.mean() - log.mean() - entropy.mean()).backward()
        optimizer.step()
        keep.step()
    assert keep.places == ["actor.0", "critic.0"]
    assert keep.measured() == {"resets": 32}
    assert not agent.critic[2].weight.any()


def test_gradients_may_accumulate_and_several_optimizers_may_train_one_module():
    module = network()
    one, two = torch.optim.SGD(module[:2].parameters(), lr=0.1), torch.optim.Adam(module[2:].parameters())
    keep = Plastic(module, [one, two], "redo", every=1, strength=1e9)
    for half in (slice(8), slice(8, 16)):
        cross_entropy(module(X[half]), Y[half]).backward()
    one.step()
    two.step()
    keep.step()
    assert keep.measured() == {"resets": 16}
    assert not two.state[module[2].weight]["exp_avg"].any()


OF_RANKS: dict[str, dict[str, Any]] = {"redo": {"every": 3, "strength": 0.7, "average": 1}, "infer": {"heads": 2}}
HALVES = torch.cat([X[:8], X[8:] * 5])
"""A batch; some units are silent for the first half alone."""


def of_rank(rank: int, file: str, name: str, results: Any) -> None:
    """A process with one half of each batch."""
    distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    module = DistributedDataParallel(network())
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    keep = Plastic(module, optimizer, name, **OF_RANKS[name])
    own = slice(rank * 8, rank * 8 + 8)
    for _ in range(7):
        optimizer.zero_grad()
        (cross_entropy(module(HALVES[own]), Y[own]) + keep.penalty()).backward()
        optimizer.step()
        keep.step()
    state = {key: value.tolist() for key, value in keep.state_dict()["state"].items()}
    results[rank] = [*(value.tolist() for value in weights(module)), state]
    distributed.destroy_process_group()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["redo", "infer"])
def test_processes_that_train_one_module_agree(tmp_path, name):
    with multiprocessing.Manager() as manager:
        results = manager.dict()
        multiprocessing.spawn(of_rank, (str(tmp_path / "meeting"), name, results), nprocs=2)
        assert results[0] == results[1]
        *reached, state = results[0]
    if name == "redo":
        assert state["resets"] > [0]
        return
    module, optimizer, keep = begun(name, **OF_RANKS[name])
    wanted = after(7, module, optimizer, keep, lambda x: module(HALVES))  # the whole batch in one process
    heads = keep.state_dict()["state"]["heads.weight"]
    for one, other in zip([*reached, state["heads.weight"]], [*wanted, heads], strict=True):
        torch.testing.assert_close(torch.tensor(one), other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("first", [True, False])
def test_measurements_and_interventions_do_not_disturb_each_other(first):
    """Before the first pass, or later; passes with other parameters are not the module's."""
    settings: dict[str, Any] = {"every": 3, "strength": 0.5}
    wanted = after(9, *begun("redo", **settings))
    module, optimizer, keep = begun("redo", **settings)
    for _ in range(3):
        if first:
            measure(module, [(X, Y)], ["dormant_units", "grama", "curvature"])
        after(3, module, optimizer, keep)
        measure(module, [(X, Y)], ["dormant_units", "grama", "curvature"])
    assert all(torch.equal(one, other) for one, other in zip(weights(module), wanted, strict=True))
    assert keep.measured()["resets"] > 0
    moved = {name: torch.zeros_like(value) for name, value in module.named_parameters()}
    torch.func.functional_call(module, moved, (X,))
    with pytest.raises(InputError, match="No forward pass"):
        keep.step()
