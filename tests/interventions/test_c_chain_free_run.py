"""C-CHAIN under PPO in a free run of 56 updates in float64, compared with the authors' loop in plain PyTorch.

In float32 c differs from theirs by 2e-5 after such a run: the policy's loss is near 0, so its rounding errors are large
in proportion. In float64, only the window and c are float32.
"""

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import nn

from plasticity_lab.activations.tanh import Tanh
from plasticity_lab.agents.optimizer_step import TrainState, UpdateInputs
from plasticity_lab.agents.ppo.policy import divergence
from plasticity_lab.agents.ppo.step import loss_of
from plasticity_lab.agents.update import SECOND, update_of
from plasticity_lab.interventions import c_chain
from plasticity_lab.interventions.c_chain import CChain
from plasticity_lab.interventions.now import Now
from plasticity_lab.networks.actor_critic import ActorCritic
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Shapes
from plasticity_lab.stacking.adam import Adam
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.packs import CPU

STRENGTHS = (0.01, 0.05, 0.2)
FIRST, WINDOW, ROUND, BATCH, LR = 4, 5, 4, 16, 3e-3
"""Rounds with the initial c and in the window, updates of a round, examples of a batch, the learning rate."""


class Authors(nn.Module):
    """One run, by crl_dmc/crl_run_ppo_c_chain_dmc.py (2f8bedf), with fewer rounds."""

    def __init__(self, parameters: dict[str, torch.Tensor], run: int, strength: float) -> None:
        super().__init__()

        def dense(name: str, outputs: int) -> nn.Linear:
            weight, bias = (parameters[f"{name}.{part}"][run, :, :outputs] for part in ("weight", "bias"))
            layer = nn.Linear(len(weight), outputs)
            layer.load_state_dict({"weight": weight.T, "bias": bias[0]})
            return layer

        self.actor = nn.Sequential(dense("trunk1", 13), nn.Tanh(), dense("body.policy", 3))
        self.critic = nn.Sequential(dense("value_trunk1", 13), nn.Tanh(), dense("body.value", 1))
        self.log_std = nn.Parameter(parameters["body.log_std.value"][run].clone())
        self.adam = torch.optim.Adam(self.parameters(), lr=LR, eps=1e-5)
        self.strength, self.c, self.losses, self.terms = strength, 100.0, [], []
        self.history = [deepcopy(self.actor)]

    def log_probability(self, x: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        mean = self.actor(x)
        return torch.distributions.Normal(mean, self.log_std.exp().expand_as(mean)).log_prob(action).sum(1)

    def update(self, batch: dict[str, torch.Tensor]) -> tuple[float, float]:
        ratio, advantage = (self.log_probability(batch["x"], batch["action"]) - batch["old"]).exp(), batch["advantage"]
        policy = torch.max(-advantage * ratio, -advantage * ratio.clamp(0.8, 1.2)).mean()
        term = torch.zeros(())
        if len(self.history) > 2:
            with torch.no_grad():
                before = self.history[-2](batch[SECOND])
            term = (self.actor(batch[SECOND]) - before).square().mean()
        value = (self.critic(batch["x"])[:, 0] - batch["target"]).square().mean()
        self.adam.zero_grad()
        (policy + 0.25 * value + self.c * term).backward()
        self.adam.step()
        self.history.append(deepcopy(self.actor))
        return policy.item(), term.item()

    def end_round(self, policy: float, term: float) -> None:
        self.losses.append(abs(policy))
        self.terms.append(term)
        if len(self.losses) >= FIRST:
            self.c = self.strength * np.mean(self.losses[-WINDOW:]) / (np.mean(self.terms[-WINDOW:]) + 1e-8)


@pytest.fixture
def in_float64(monkeypatch):
    # Exact sums are of float32; one run's sums need not be the same bits in every pack here.
    monkeypatch.setattr(c_chain, "exact_sums", lambda x: x.detach().sum(dim=-1))
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def test_three_runs_of_a_pack_have_the_authors_weights_and_their_c(in_float64):
    network = ActorCritic(width=13, depth=1, adapter=False, separate_value_trunk=True)
    model = Model(network, [Tanh()] * 3, {"body": Shapes((6,), {"policy": 3, "value": 1}, {"log_std": 3})})
    adam, penalties = Adam(lr=LR, epsilon=1e-5), [CChain(strength=own, first=FIRST, window=WINDOW) for own in STRENGTHS]
    parameters = {name: value.double() for name, value in model.start([0, 1, 2], CPU).items()}
    moments = adam.start(parameters)
    settings = {"activation": on_run_axis([Tanh()] * 3), "optimizer": on_run_axis([adam] * 3, CPU, torch.float64)}
    settings["intervention"] = on_run_axis(penalties, CPU, torch.float64)
    agent = {"clip": 0.2, "value_weight": 0.25, "entropy_weight": 0.0}
    settings["agent"] = {name: torch.full((3,), value) for name, value in agent.items()}
    state = penalties[0].start(Now(model, parameters, settings["intervention"], {}, moments))
    state["window"] = state["window"].float()
    loss = loss_of(model, "body", clip_value=False)
    update = update_of(model, loss, adam, penalties[0], None, False, "x", "body", divergence, ROUND)
    twins = [Authors(parameters, run, strength) for run, strength in enumerate(STRENGTHS)]
    draw = np.random.default_rng(0)
    for count in range(56):
        shapes = {"x": (6,), SECOND: (6,), "action": (3,), "advantage": (), "target": ()}
        batch = {name: torch.tensor(draw.normal(size=(3, BATCH, *shape))) for name, shape in shapes.items()}
        batch["advantage"] -= batch["advantage"].mean(dim=1, keepdim=True)
        with torch.no_grad():
            own = [twin.log_probability(batch["x"][k], batch["action"][k]) for k, twin in enumerate(twins)]
        batch |= {"old": torch.stack(own) + 0.1 * batch["target"], "value": batch["target"]}
        batch["weight"] = torch.full((BATCH,), 1 / BATCH)
        corrections = {name: row[0] for name, row in adam.corrections(settings["optimizer"], count + 1, 1).items()}
        inputs = UpdateInputs(settings, torch.zeros(3, 2, dtype=torch.int64), torch.tensor(count), corrections)
        state, _ = update(TrainState(parameters, moments, state), inputs, batch)
        assert state["coefficient"].tolist() == pytest.approx([twin.c for twin in twins], rel=1e-6)
        for k, twin in enumerate(twins):
            measured = twin.update({name: values[k] for name, values in batch.items() if name != "weight"})
            if count % ROUND == ROUND - 1:
                twin.end_round(*measured)
    assert len({*state["coefficient"].tolist()}) == 3
    for k, twin in enumerate(twins):
        for name, layer in {
            "trunk1": twin.actor[0],
            "body.policy": twin.actor[2],
            "value_trunk1": twin.critic[0],
        }.items():
            ours = parameters[f"{name}.weight"][k, :, : layer.out_features].T
            torch.testing.assert_close(ours, layer.weight.detach(), rtol=0, atol=1e-6)
