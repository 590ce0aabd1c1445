"""Acting for a rollout, all runs of a pack together, on the host.

Legend: K runs, T steps of a rollout, N environments of each run, D numbers of an observation, A actions to choose from,
or numbers of an action, O numbers of an output.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.agents.acting.episodes import episode_returns, episodes_of, finite_or_zero
from plasticity_lab.agents.acting.network import ActingNetwork
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.ppo.normalise import Normaliser
from plasticity_lab.agents.ppo.policy import deviation
from plasticity_lab.agents.ppo.settings import PPOSettings
from plasticity_lab.environments.body import Body
from plasticity_lab.environments.environments import Ended, Environments, Outcome
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.records.rows import Episodes

Array = NDArray[Any]


@dataclass(frozen=True)
class Transitions:
    """Observations, actions and rewards of a rollout, step by step.

    x (K, T, N, D): inputs of the network.
    action: (K, T, N) whole, or (K, T, N, A).
    outputs: name → (K, T, N, O).
    rewards (K, T, N): scaled for learning.
    following (K, T, N): the value of the state that a step led to.
    terminated (K, T, N): whether no state follows.
    ended (K, T, N): whether an episode ended.
    finite (K,): whether all observations, actions and rewards of a run are finite.
    """

    x: Array
    action: Array
    outputs: Mapping[str, Array]
    rewards: Array
    following: Array
    terminated: Array
    ended: Array
    finite: Array
    episodes: Episodes


class Actor:
    """A pack of runs in environments of one body.

    seeds: seeds of their noise.
    gamma: (K,).
    normaliser: the body's statistics, used for observations and rewards only if the agent normalises them.
    Values of an observation or an action that are not finite become 0, and the environment continues;
    `Transitions.finite` marks such runs.
    """

    def __init__(
        self,
        environments: Environments,
        network: ActingNetwork,
        agent: PPOSettings,
        seeds: Sequence[int],
        gamma: Array,
        normaliser: Normaliser,
    ) -> None:
        self.environments, self.network, self.agent, self.seeds, self.gamma = environments, network, agent, seeds, gamma
        self.normaliser, self.body, self.steps = normaliser, environments.body, agent.rollout
        clips = agent.clip_action and not self.body.discrete
        self.bounds = np.array(self.body.bounds, np.float32) if clips else None
        self.finite = np.ones(len(seeds), bool)

    def begin(self) -> None:
        """Adds the first observations of new environments to the statistics."""
        self.normaliser.begin(self._flat(self.environments.observations))

    def rollout(self, first: int) -> Transitions:
        """Acts for T steps. first: number of earlier steps of the run."""
        self.finite = np.ones(len(self.seeds), bool)
        noise = action_noise(self.body, self.seeds, first, self.steps, self.environments.observations.shape[1])
        rows: dict[str, list[Array]] = {name: [] for name in ("x", "action", "rewards", "terminated", "ended", "then")}
        outputs, ended = list[Mapping[str, Array]](), list[tuple[Ended, int]]()
        shown = self._flat(self.environments.observations)
        for t in range(self.steps):
            x = self._given(shown)
            answered = self.network(x, 2 * (first + t))
            if t == 0 and "log_std" in answered:
                noise *= deviation(answered["log_std"])[:, None]
            action = self._action(answered["policy"], noise[:, t])
            outcome = self.environments.step(self._within_bounds(action))
            over, rewards = outcome.terminated | outcome.truncated, outcome.rewards
            led_to, shown = self._seen(outcome)
            if self.agent.normalise_observations:
                self.normaliser.see(led_to, shown, over)
            if self.agent.normalise_rewards:
                rewards = self.normaliser.scaled_rewards(rewards, outcome.terminated, self.gamma)
            then = None
            if not self.agent.timeout_is_terminal and outcome.truncated.any():
                then = self.network(self._given(led_to), 2 * (first + t) + 1)["value"][..., 0]
            for name, value in zip(rows, (x, action, rewards, outcome.terminated, over, then), strict=True):
                rows[name].append(value)
            outputs.append(answered)
            if len(outcome.ended.run):
                ended.append((outcome.ended, first + (t + 1) * over.shape[1]))
        last = self.network(self._given(shown), 2 * (first + self.steps))["value"][..., 0]
        outputs_by_name = {name: np.stack([each[name] for each in outputs], axis=1) for name in outputs[0]}
        following = np.concatenate([outputs_by_name["value"][:, 1:, :, 0], last[:, None]], axis=1)
        for t, value in enumerate(rows.pop("then")):
            if value is not None:
                following[:, t] = np.where(rows["ended"][t], value, following[:, t])
        stacked = {name: np.stack(values, axis=1) for name, values in rows.items()}
        if self.agent.timeout_is_terminal:
            stacked["terminated"] = stacked["ended"]
        return Transitions(
            outputs=outputs_by_name, following=following, finite=self.finite, episodes=episodes_of(ended), **stacked
        )

    def _given(self, shown: Array) -> Array:
        """The network's inputs, (K, N, D)."""
        return self.normaliser.scaled(shown) if self.agent.normalise_observations else shown

    def _seen(self, outcome: Outcome) -> tuple[Array, Array]:
        """The observations that a step led to, and the current observations after it, (K, N, D) each, finite.

        Every step checks whether its numbers are finite (`Outcome.broken`); only otherwise is more work needed.
        """
        if not len(outcome.ended.run):
            led_to = self._by_run(outcome.last)
            return led_to, led_to
        if outcome.broken.any():
            self._note(~outcome.broken)
        return self._flat(outcome.last), self._flat(self.environments.observations)

    def _flat(self, observations: Array) -> Array:
        """(K, N, ...) → (K, N, D), finite."""
        return self._sane(self._by_run(observations))

    def _by_run(self, observations: Array) -> Array:
        return observations.reshape(*observations.shape[:2], -1)

    def _within_bounds(self, action: Array) -> Array:
        """The action within the body's bounds. np.clip would give the same result, but its checks take longer."""
        if self.bounds is None:
            return action
        low, high = self.bounds
        return np.minimum(np.maximum(action, low), high)

    def _sane(self, values: Array) -> Array:
        finite = np.isfinite(values)
        if finite.all():
            return values
        self._note(finite)
        return np.where(finite, values, 0).astype(values.dtype)

    def _note(self, finite: Array) -> None:
        self.finite &= finite.reshape(len(finite), -1).all(axis=1)

    def _action(self, policy: Array, noise: Array) -> Array:
        """Actions sampled from the network's outputs, (K, N) or (K, N, A)."""
        if self.body.discrete:
            return (self._sane(policy) + noise).argmax(axis=2)
        return self._sane(policy + noise)


def action_noise(body: Body, seeds: Sequence[int], first: int, steps: int, environments: int) -> Array:
    """(K, T, N, A): a Gumbel number for each choice, or a normal one for each number of an action.

    Drawn on the host for a whole rollout at once, as a function of the run's seed and of `first`, its steps before the
    rollout. No generator is saved.
    """
    shape = (steps, environments, body.actions)

    def of(seed: int) -> Array:
        stream = host_stream(seed, "acting", first)
        return stream.gumbel(size=shape) if body.discrete else stream.standard_normal(shape, np.float32)

    return np.stack([of(seed) for seed in seeds])


# Actions of a test: the most likely ones. Nothing is drawn, nothing is learned.
#
# Legend: K runs, E episodes of the test.


def returns_in_test(
    network: PackedNetwork,
    body: Body,
    seeds: Sequence[int],
    frictions: NDArray[np.float64],
    normaliser: Normaliser | None,
    clip_action: bool,
) -> NDArray[np.float64]:
    """The return of each test episode, (K, E), with the most likely actions; see `episode_returns` and `likeliest`."""

    def act(observations: Array) -> Array:
        return likeliest(network, body, observations, normaliser, clip_action)

    return episode_returns(body, seeds, frictions, act)


def likeliest(
    network: PackedNetwork, body: Body, observations: Array, normaliser: Normaliser | None, clips: bool
) -> NDArray[np.float32] | NDArray[np.int64]:
    """Observations (K, E, …) in the body's form → the most likely actions, (K, E) or (K, E, A).

    Randomised activations take their mean slope.
    normaliser: scales observations by the statistics of training, which stay unchanged; None if the agent does not
        normalise.
    clips: whether actions are clipped to the body's bounds, if it has any.
    """
    flat = finite_or_zero(observations.reshape(*observations.shape[:2], -1))
    scaled = flat if normaliser is None else normaliser.scaled(flat)
    policy = finite_or_zero(network.answers(scaled, body.name)["policy"])
    if body.discrete:
        return policy.argmax(axis=2)
    return np.clip(policy, *np.array(body.bounds, np.float32)) if clips else policy
