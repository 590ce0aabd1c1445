"""The learner against Rainbow written plainly in float64: one run at a time, loops over atoms, lists of priorities.

From the papers: dueling (Wang et al. 2016, eq. 9), double Q-learning (van Hasselt et al. 2016), C51 (Bellemare et al.
2017, algorithm 1), proportional priorities with α = β = 1/2 (Schaul et al. 2016), noisy layers (Fortunato et al. 2018,
eqs. 9 to 11), n steps. Of ours it takes the first parameters, the uniform numbers, and what was remembered.
"""

from math import floor, pi, sqrt

import numpy as np
import pytest
import torch

from plasticity_lab.agents.value.learner import ValueLearner
from plasticity_lab.randomness.device import uniforms
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.replay.prioritised import SMALLEST
from tests.agents.value.packs import BY_AGENT, begun
from tests.tenants.packs import packs_of

GAMMA, N, BATCH, ATOMS, LOW, HIGH, ACTIONS = 0.9, 3, 8, 7, -1.0, 1.5, 3
STEPS, WARM_UP, PERIOD, TARGET_PERIOD = 150, 60, 3, 40
LAYERS = ("hidden1", "hidden2", "value", "advantage")
SUPPORT = [LOW + (HIGH - LOW) * atom / (ATOMS - 1) for atom in range(ATOMS)]
WORDS = (
    *BY_AGENT["rainbow"], f"agent.gamma={GAMMA}", f"agent.n_step={N}", f"agent.batch={BATCH}", f"agent.atoms={ATOMS}",
    f"agent.support_low={LOW}", f"agent.support_high={HIGH}", "agent.capacity=200", f"agent.min_history={WARM_UP}",
    f"agent.update_period={PERIOD}", f"agent.target_period={TARGET_PERIOD}", "agent.noise=0.7",
    f"benchmark.environment_steps={STEPS}", "optimizer.lr=1e-2", "seed=0,1",
)  # fmt: skip


class Plain:
    """One run: its network, its target, what it remembers, and the priorities."""

    def __init__(self, learner: ValueLearner, run: int) -> None:
        self.keys, self.run, self.seed = learner.keys, run, learner.parts.init_seeds[run]
        values = {name: value[run].double() for name, value in learner.network.parameters.items()}
        sizes = {layer.name: (layer.inputs, layer.outputs) for layer in learner.network.model.design.layers}
        self.sizes = {name: sizes[name] for name in LAYERS}
        self.parameters = {
            name: value[..., : self.sizes[name.partition(".")[0]][1]].clone().requires_grad_()
            for name, value in values.items()
        }
        self.adam = torch.optim.Adam(self.parameters.values(), lr=1e-2, eps=1.5e-4)
        self.copy()
        self.priorities, self.largest, self.updates, self.smaller = dict[int, float](), 1.0, 0, 0

    def copy(self) -> None:
        self.target = {name: value.detach().clone() for name, value in self.parameters.items()}

    def noise(self, purpose: str, rows: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """f of the normal numbers of each layer's inputs and outputs, (rows, I) and (rows, O): Box and Muller 1958."""
        counts = [rows * sum(size) + rows * sum(size) % 2 for size in self.sizes.values()]
        drawn = uniforms(self.keys[purpose], torch.tensor(self.updates), sum(counts))[self.run].double()
        found = []
        for (inputs, outputs), own in zip(self.sizes.values(), drawn.split(counts), strict=True):
            first, second = own[: len(own) // 2], own[len(own) // 2 :]
            radius = torch.sqrt(-2 * torch.log(1 - first))
            normal = torch.cat([radius * torch.cos(2 * pi * second), radius * torch.sin(2 * pi * second)])
            scaled = torch.sign(normal) * torch.sqrt(torch.abs(normal))
            table = scaled[: rows * (inputs + outputs)].view(rows, inputs + outputs)
            found.append((table[:, :inputs], table[:, inputs:]))
        return found

    def probabilities(self, parameters, frames, noise) -> torch.Tensor:
        """(B, A, Z): an example's weights are w + σ · f(p) f(q)ᵀ, and its biases b + σ · f(q)."""

        def layer(name, x):
            by_input, by_output = noise[LAYERS.index(name)]
            rows = []
            for b in range(len(x)):
                p, q = by_input[b % len(by_input)], by_output[b % len(by_output)]
                weight = parameters[f"{name}.weight"] + parameters[f"{name}.sigma"] * torch.outer(p, q)
                bias = parameters[f"{name}.bias"][0] + parameters[f"{name}.sigma_bias"][0] * q
                rows.append(x[b] @ weight + bias)
            return torch.stack(rows)

        x = torch.tensor(np.array(frames), dtype=torch.float64).flatten(1) / 255
        h = torch.relu(layer("hidden2", torch.relu(layer("hidden1", x))))
        value, advantage = layer("value", h)[:, None], layer("advantage", h).view(-1, ACTIONS, ATOMS)
        return torch.softmax(value + advantage - advantage.mean(dim=1, keepdim=True), dim=2)

    def remember(self, transitions, end: int) -> None:
        """Of the steps before `end` those that can be learned from now get the largest priority that there was."""
        for step in range(end):
            window = transitions[step : min(step + N, end)]
            if step not in self.priorities and (any(each[3] for each in window) or step + N < end):
                self.priorities[step] = self.largest

    def draw(self) -> list[int]:
        """One step out of each of B equal parts of the sum of all priorities."""
        steps = sorted(self.priorities)
        sums = np.cumsum([self.priorities[step] for step in steps])
        within = host_stream(self.seed, "prioritised replay", self.updates).random(BATCH)
        wanted = (np.arange(BATCH) + within) / BATCH * sums[-1]
        return [steps[int(np.argmax(sums > point))] for point in wanted]

    def pulled_to(self, transitions, step: int, noise) -> list[float]:
        """The distribution that n rewards and what follows them make of the action taken."""
        total, discount, now = 0.0, 1.0, step
        for _ in range(N):
            _, _, reward, terminated = transitions[now]
            total, discount, now = total + discount * reward, discount * GAMMA, now + 1
            if terminated:
                discount, now = 0.0, step
                break
        with torch.no_grad():
            own = self.probabilities(self.parameters, [transitions[now][0]], noise)[0]
            best = int(np.argmax([float(action @ torch.tensor(SUPPORT, dtype=torch.float64)) for action in own]))
            then = self.probabilities(self.target, [transitions[now][0]], noise)[0, best].tolist()
        found = [0.0] * ATOMS
        for probability, atom in zip(then, SUPPORT, strict=True):
            place = (min(max(total + discount * atom, LOW), HIGH) - LOW) / (HIGH - LOW) * (ATOMS - 1)
            below = min(floor(place), ATOMS - 2)
            found[below] += probability * (below + 1 - place)
            found[below + 1] += probability * (place - below)
        return found

    def update(self, transitions) -> None:
        steps = self.draw()
        of_target = self.noise("target noise", 1)
        targets = torch.tensor([self.pulled_to(transitions, step, of_target) for step in steps], dtype=torch.float64)
        found = self.probabilities(
            self.parameters, [transitions[step][0] for step in steps], self.noise("noise", BATCH)
        )
        taken = torch.stack([found[b, transitions[step][1]] for b, step in enumerate(steps)])
        losses = -(targets * torch.log(taken)).sum(dim=1)
        weights = [1 / sqrt(self.priorities[step] + SMALLEST) for step in steps]
        importance = torch.tensor(weights, dtype=torch.float64) / max(weights)
        self.adam.zero_grad()
        (importance * losses).mean().backward()
        self.adam.step()
        for step, loss in zip(steps, losses.tolist(), strict=True):
            self.priorities[step] = sqrt(loss + SMALLEST)
            self.largest = max(self.largest, self.priorities[step])
        self.smaller += max(self.priorities[step] for step in steps) < self.largest
        self.updates += 1


def test_it_learns_what_rainbow_written_plainly_learns():
    """Over three copies of the target, with ends of episodes, and new steps after batches of smaller losses."""
    learner, chunks = begun(packs_of(*WORDS))
    plain = [Plain(learner, run) for run in range(2)]
    for chunk in chunks:
        learner.advance(chunk)
    remembered = learner.memory.prioritised
    for run, mine in enumerate(plain):
        arrays = (
            learner.memory.ring.arrays[name][:STEPS, run, 0] for name in ("frame", "action", "reward", "terminated")
        )
        transitions = list(zip(*arrays, strict=True))
        for end in range(1, STEPS + 1):
            mine.remember(transitions, end)
            if end > WARM_UP and end % PERIOD == 0:
                mine.update(transitions)
            if end % TARGET_PERIOD == 0:
                mine.copy()
        assert mine.smaller > 3, "batches of which no loss was the largest there ever was"
        assert mine.updates == learner.network.updates == 30
        for name, value in mine.parameters.items():
            there, of_target = (
                of[name][run, ..., : value.shape[-1]] for of in (learner.network.parameters, learner.target.parameters)
            )
            torch.testing.assert_close(there.double(), value.detach(), atol=2e-5, rtol=1e-4)
            torch.testing.assert_close(of_target.double(), mine.target[name], atol=2e-5, rtol=1e-4)
        held = remembered._priorities.values[run, :STEPS]
        assert held == pytest.approx([mine.priorities.get(step, 0.0) for step in range(STEPS)], rel=1e-4)
        assert remembered._largest[run] == pytest.approx(mine.largest, rel=1e-5)
