"""A loss with exp and log, and clipped gradients: a run's numbers are the same alone and in packs, compiled too.

The loss is PPO's (Schulman et al. 2017). Compiled with torch.exp and torch.log_softmax instead of `elementary`, it
gives other bits in packs at many shapes: kernels for one run use other exponentials than those for several.

Legend: K runs, S updates, R rows of a rollout, B rows of a minibatch, A actions, D observed numbers.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from plasticity_lab.agents.compiled import Compiled
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.clipping import clipped
from plasticity_lab.stacking.elementary import exp, log_softmax, summed_last
from plasticity_lab.stacking.exact_sums import run_sums
from plasticity_lab.stacking.linear import StackedLinear
from plasticity_lab.stacking.run_axis import beside, on_run_axis
from tests.helpers.packs import needs_compiler

OBSERVED, ROLLOUT, UPDATES = 4, 128, 8
WIDTHS = 2, 3, 5, 6, 7, 8, 12

Tensors = dict[str, Tensor]
Loss = Callable[..., tuple[Tensor, Tensors]]
Update = Callable[..., Tensors]


def layers(hidden: Sequence[int], actions: int) -> list[StackedLinear]:
    """Hidden layers of those widths, the policy, and the value."""
    sizes = [OBSERVED, *hidden]
    trunk = [StackedLinear(f"hidden{i}", *pair) for i, pair in enumerate(pairwise(sizes))]
    return [*trunk, StackedLinear("policy", sizes[-1], actions), StackedLinear("value", sizes[-1], 1)]


def policy_loss(
    parameters: Tensors, network: Sequence[StackedLinear], settings: Tensors, batch: Tensors
) -> tuple[Tensor, Tensors]:
    """The runs' losses summed, and the rows' losses and ratios, (K, B). A policy of one layer, which compiles soon."""
    logs_KBA = log_softmax(network[0](parameters, batch["observed"]))
    loss_KB, ratio_KB = clipped_objective(logs_KBA, batch["advantage"], batch, settings)
    return loss_KB.sum(), {"rows": loss_KB, "ratio": ratio_KB}


def ppo_loss(
    parameters: Tensors, network: Sequence[StackedLinear], settings: Tensors, batch: Tensors
) -> tuple[Tensor, Tensors]:
    """The runs' losses summed, and what is looked at: each run's loss, (K,), its rows' losses and ratios, (K, B)."""
    *trunk, policy, value = network
    h_KBD = batch["observed"]
    for layer in trunk:
        h_KBD = torch.tanh(layer(parameters, h_KBD))
    logs_KBA, value_KB = log_softmax(policy(parameters, h_KBD)), value(parameters, h_KBD).squeeze(-1)
    rows = value_KB.shape[1]
    centred_KB = batch["advantage"] - beside(run_sums(batch["advantage"]) / rows, value_KB)
    advantage_KB = centred_KB / beside((run_sums(centred_KB.square()) / (rows - 1)).sqrt() + 1e-8, value_KB)
    policy_KB, ratio_KB = clipped_objective(logs_KBA, advantage_KB, batch, settings)
    entropy_KB = -summed_last(exp(logs_KBA) * logs_KBA)
    near_KB = batch["value"] + between(value_KB - batch["value"], -settings["clip"], settings["clip"])
    errors_KB = torch.maximum((value_KB - batch["returns"]).square(), (near_KB - batch["returns"]).square())
    loss_KB = policy_KB + 0.25 * errors_KB - 0.01 * entropy_KB
    return loss_KB.sum() / rows, {"loss": run_sums(loss_KB) / rows, "rows": loss_KB, "ratio": ratio_KB}


def clipped_objective(
    logs_KBA: Tensor, advantage_KB: Tensor, batch: Tensors, settings: Tensors
) -> tuple[Tensor, Tensor]:
    """The rows' losses, and the ratios of the new policy's probabilities to the old one's."""
    taken_KB = logs_KBA.gather(-1, batch["action"].unsqueeze(-1)).squeeze(-1)
    ratio_KB = exp(taken_KB - batch["log_probability"])
    kept_KB = between(ratio_KB, 1 - settings["clip"], 1 + settings["clip"])
    return -torch.minimum(ratio_KB * advantage_KB, kept_KB * advantage_KB), ratio_KB


def between(x_KB: Tensor, low_K: Tensor, high_K: Tensor) -> Tensor:
    return torch.minimum(torch.maximum(x_KB, beside(low_K, x_KB)), beside(high_K, x_KB))


def update_of(loss: Loss, network: Sequence[StackedLinear], optimizer: Adam) -> Update:
    """One update of a pack, in place, on the minibatch that row `at` of the tables says."""

    def update(
        parameters: Tensors,
        moments: dict[str, Tensors],
        settings: dict[str, Tensors],
        rollout: Tensors,
        tables: Tensors,
        keys_K: Tensor,
        at: Tensor,
    ) -> Tensors:
        now = {name: rows.index_select(0, at).squeeze(0) for name, rows in tables.items()}
        chosen = torch.arange(keys_K.shape[0]).unsqueeze(1), now["rows"]
        batch = {name: values[chosen] for name, values in rollout.items()}
        gradients, seen = torch.func.grad(loss, has_aux=True)(parameters, network, settings["agent"], batch)
        optimizer.update(
            parameters, clipped(gradients, settings["agent"]["limit"]), moments, settings["optimizer"], now
        )
        return seen

    return update


def rollout_of(run: int, actions: int, minibatch: int) -> dict[str, np.ndarray]:
    draw = host_stream(run, "rollout")
    floats = {
        "observed": draw.normal(size=(ROLLOUT, OBSERVED)),
        "log_probability": -np.log(actions) + 0.3 * draw.normal(size=ROLLOUT),
        "advantage": draw.normal(size=ROLLOUT),
        "returns": draw.normal(size=ROLLOUT),
        "value": 0.3 * draw.normal(size=ROLLOUT),
    }
    return {
        **{name: values.astype(np.float32) for name, values in floats.items()},
        "action": draw.integers(0, actions, ROLLOUT),
        "rows": np.stack([draw.permutation(ROLLOUT)[:minibatch] for _ in range(UPDATES)]),
    }


def history(
    update: Update, network: Sequence[StackedLinear], runs: Sequence[int], minibatch: int
) -> dict[str, np.ndarray]:
    """What the pack of those runs went through: name → (S, K, ...), its losses and its parameters after each update."""
    optimizers = [Adam(lr=3e-3 * (1 + run % 3), epsilon=1e-5) for run in runs]
    start = [
        {
            name: value
            for layer in network
            for name, value in layer.start(host_stream(run, "weights", layer.name), "default", 1.0).items()
        }
        for run in runs
    ]
    actions = next(layer.outputs for layer in network if layer.name == "policy")
    data = [rollout_of(run, actions, minibatch) for run in runs]
    parameters = {name: torch.from_numpy(np.stack([own[name] for own in start])) for name in start[0]}
    rollout = {name: torch.from_numpy(np.stack([own[name] for own in data])) for name in data[0]}
    settings = {
        "agent": {
            "clip": torch.tensor([0.2 + 0.01 * (run % 4) for run in runs]),
            "limit": torch.tensor([0.5 if run % 5 else 0.1 for run in runs]),
        },
        "optimizer": on_run_axis(optimizers, dtype=torch.float64),
    }
    corrections = optimizers[0].corrections(settings["optimizer"], 1, UPDATES)
    tables = {"rows": rollout.pop("rows").transpose(0, 1).contiguous(), **corrections}
    moments, keys_K = optimizers[0].start(parameters), torch.tensor(runs)
    steps = []
    for s in range(UPDATES):
        seen = update(parameters, moments, settings, rollout, tables, keys_K, torch.tensor([s]))
        steps.append({name: value.detach().numpy().copy() for name, value in {**seen, **parameters}.items()})
    return {name: np.stack([step[name] for step in steps]) for name in steps[0]}


def differing(
    loss: Loss, network: Sequence[StackedLinear], minibatch: int, widths: Sequence[int], compiled: bool
) -> list[str]:
    """Where the run's numbers in packs of those widths, at one place or another, are not those it has alone."""
    update = update_of(loss, network, Adam())
    update = Compiled(update) if compiled else update
    alone = history(update, network, [0], minibatch)
    assert all(np.isfinite(values).all() for values in alone.values())
    found = []
    for width in widths:
        place = width // 2
        runs = [*range(1, place + 1), 0, *range(place + 1, width)]
        packed = history(update, network, runs, minibatch)
        for name, values in alone.items():
            same = [own.tobytes() == of.tobytes() for own, of in zip(values[:, 0], packed[name][:, place], strict=True)]
            if not all(same):
                found.append(f"{name} in a pack of {width}, from update {same.index(False)} on")
    torch._dynamo.reset()
    return found


@pytest.mark.walk(1)
@pytest.mark.parametrize("minibatch", [8, 12, 16, 32, 64])
def test_a_pack_learns_what_each_run_learns_alone(minibatch):
    for actions, hidden in ((2, [16, 16]), (6, [64])):
        assert not differing(ppo_loss, layers(hidden, actions), minibatch, WIDTHS, compiled=False)


@needs_compiler
@pytest.mark.slow
def test_so_it_does_compiled():
    policy = StackedLinear("policy", OBSERVED, 2)
    assert not differing(policy_loss, [policy], 8, [3], compiled=True)  # a graph takes seconds


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(
    ("minibatch", "actions", "hidden"),
    [(8, 2, [16]), (12, 2, [32]), (16, 2, [64, 64]), (32, 3, [24]), (64, 2, [16]), (16, 18, [64]), (8, 6, [91])],
)
def test_so_it_does_compiled_at_every_width(minibatch, actions, hidden):
    assert not differing(ppo_loss, layers(hidden, actions), minibatch, WIDTHS, compiled=True)
