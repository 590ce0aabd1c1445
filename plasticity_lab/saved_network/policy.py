"""A saved policy of PPO with the scaling of its observations: to inspect it, act with it, and repeat its test.

Legend: B observations, D numbers per observation, A numbers per action, E episodes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.acting.episodes import mean_return
from plasticity_lab.agents.packed_network import PackedNetwork
from plasticity_lab.agents.ppo.agent import PPO
from plasticity_lab.agents.ppo.normalise import Normaliser, scaling
from plasticity_lab.agents.ppo.rollout import likeliest, returns_in_test
from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.errors import InputError, StoreError
from plasticity_lab.saved_network.network import Outputs, SavedNetwork, TensorOrArray, in_rows
from plasticity_lab.stacking.pixels import of_pixels

Statistics = dict[str, Tensor]


@dataclass(frozen=True)
class SavedPolicy(SavedNetwork):
    """A policy, and the environments that it was trained in.

    body: the name of an environment; required if there are several. normalisers: body → the statistics of the training;
    None if they are missing (see `lacks_statistics`). packed: the same parameters in the form that tests of the
    training use.
    """

    agent: PPO
    benchmark: BodyBenchmark
    normalisers: Mapping[str, Normaliser] | None
    packed: PackedNetwork

    def __call__(self, observations: TensorOrArray, body: str | None = None, prepared: bool = False) -> Outputs:
        """The outputs: "policy" and "value", and "log_std" for continuous actions, (B, O) each.

        observations: from the environment; with `prepared`, as the method of that name returns them. If the agent
        scales rewards, the value estimates scaled returns.
        """
        return self.units(observations, body, prepared)[0]

    def units(
        self, observations: TensorOrArray, body: str | None = None, prepared: bool = False
    ) -> tuple[Outputs, Outputs]:
        """The outputs, and the activations by unit name, (B, units)."""
        x = self._rows(observations, body).to(torch.float32) if prepared else self.prepared(observations, body)
        return self._forward(x, self._body(body))

    def prepared(self, observations: TensorOrArray, body: str | None = None) -> Tensor:
        """Observations (B, D) of the environment → inputs of the network, float32; pixels as 0 … 1.

        Scaled by the statistics of the training and clipped, if the agent has `normalise_observations`.
        Raises InputError; StoreError if the statistics are missing.
        """
        shown = self._shown(observations, body)
        normaliser = self._normaliser(self._body(body))
        if normaliser is None:
            return of_pixels(shown.to(torch.uint8)) if self._shows_pixels(self._body(body)) else shown
        if shown.requires_grad:
            raise InputError(
                "The observations ask for gradients, and none go through their scaling: give those that are scaled, "
                "network(network.prepared(x.detach()).requires_grad_(), prepared=True)."
            )
        return torch.from_numpy(normaliser.scaled(shown.reshape(1, -1, shown.shape[-1]).numpy())).reshape(shown.shape)

    def act(self, observations: TensorOrArray, body: str | None = None) -> NDArray[np.float32] | NDArray[np.int64]:
        """The most likely actions: (B,) integers, or (B, A), clipped to the action bounds if the agent has
        `clip_action`.

        observations: (B, D), from the environment; for a single one, (D,), a single action. Raises as `prepared`.
        """
        name = self._body(body)
        shown, normaliser = self._shown(observations, body), self._normaliser(name)
        body_ = self.benchmark.outline().by_name[name]
        x_1BD = shown.detach().reshape(1, -1, shown.shape[-1]).numpy().astype(body_.dtype)
        actions = likeliest(self.packed, body_, x_1BD, normaliser, self.agent.clip_action)[0]
        return actions if shown.dim() > 1 else actions[0]

    def test_returns(self, body: str | None = None, frictions: Sequence[float] | None = None) -> NDArray[np.float64]:
        """The return of each test episode, (E,), in the test environments of the training; −∞ if one broke.

        frictions: a factor of the friction for each episode; None: the benchmark's test. Raises InputError if the
        benchmark has no test, or the environment no friction; DataError if a package is missing; StoreError as
        `prepared`.
        """
        return self._played(body, frictions)[0]

    def test_return(self, body: str | None = None, frictions: Sequence[float] | None = None) -> float:
        """The mean of `test_returns`, as in the column `test_return` of metrics.

        It equals the column's value after the last task bit for bit, if the run was trained on the CPU, and if no
        intervention changes the parameters after that test.
        """
        return float(mean_return(self._played(body, frictions))[0])

    @property
    def statistics(self) -> dict[str, Statistics]:
        """Body → the statistics that scale its observations and rewards: "observations.mean" and
        "observations.variance" (D,), "observations.count" (), and the same for "rewards"; {} if nothing is scaled.

        Raises StoreError if they are missing.
        """
        if self.normalisers is None:
            raise self._missing()
        if not self.agent.scales:
            return {}
        return {
            body: {name: torch.tensor(value[0]) for name, value in scaling(normaliser, self.agent.scales).items()}
            for body, normaliser in self.normalisers.items()
        }

    @property
    def lacks_statistics(self) -> bool:
        """Whether the agent scales observations or rewards, and the store lacks the statistics."""
        return self.normalisers is None

    def _rows(self, observations: TensorOrArray, body: str | None) -> Tensor:
        return in_rows(observations, self.model.inputs[self._body(body)])

    def _shown(self, observations: TensorOrArray, body: str | None) -> Tensor:
        """The observations as rows.  Raises InputError if the environment shows pixels and these are no pixels."""
        rows = self._rows(observations, body)
        if self._shows_pixels(self._body(body)) and (rows.is_floating_point() or (rows != rows.to(torch.uint8)).any()):
            raise InputError(
                f"The body {self._body(body)} shows pixels, whole numbers from 0 to 255, and these observations are "
                "others; give those that are scaled already as network(x, prepared=True)."
            )
        return rows.to(torch.float32)

    def _shows_pixels(self, body: str) -> bool:
        return self.benchmark.outline().by_name[body].dtype == "uint8"

    def _normaliser(self, body: str) -> Normaliser | None:
        """The statistics that scale an environment's observations; None if they are not scaled."""
        if not self.agent.normalise_observations:
            return None
        if self.normalisers is None:
            raise self._missing()
        return self.normalisers[body]

    def _missing(self) -> StoreError:
        return StoreError(
            f"Run {self.run.id} has learned from scaled numbers, and the statistics that scale them are missing, since "
            "it was trained before they were kept: train it again with save_weights=final rerun=true. Observations "
            "that are scaled already can be given, network(x, prepared=True)."
        )

    def _played(self, body: str | None, frictions: Sequence[float] | None) -> NDArray[np.float64]:
        """The returns of test episodes, (1, E)."""
        name = self._body(body)
        normaliser, body_ = self._normaliser(name), self.benchmark.resource(Path()).by_name[name]
        factors = self.benchmark.test_frictions(body_) if frictions is None else np.asarray(frictions, float)
        if factors is None:
            raise InputError(
                f"benchmark={self.run.science['benchmark']['name']} was trained without test episodes; say how many "
                "there are to be, each with its friction: frictions=[1.0] * 10."
            )
        if factors.ndim != 1 or not len(factors) or not (np.isfinite(factors) & (factors > 0)).all():
            raise InputError(f"frictions is {frictions!r}; it must be a list of factors above 0, one for each episode.")
        if not body_.has_friction and (factors != 1).any():
            raise InputError(f"The body {name} has no friction that could be changed; all frictions must be 1.")
        seeds = [self.run.seed_of("stream_seed")]
        return returns_in_test(self.packed, body_, seeds, factors, normaliser, self.agent.clip_action)
