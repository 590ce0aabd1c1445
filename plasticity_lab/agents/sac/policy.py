"""The policy of SAC: Gaussians, squashed by tanh into the body's bounds.

Legend: K runs, B examples, A numbers of an action.

Source: Haarnoja et al. 2018, Appendix C, in the form of CleanRL's sac_continuous_action.py. Sums over A are added one
    by one, so that the bits are the same in every pack, compiled or not.
"""

from collections.abc import Mapping
from functools import reduce
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.ppo.policy import HALF_LOG_TWO_PI
from plasticity_lab.environments.body import Body
from plasticity_lab.networks.network import Shapes
from plasticity_lab.randomness.device import uniforms
from plasticity_lab.stacking.elementary import exp, log, normals, tanh

Tensors = Mapping[str, Tensor]
BOUNDS = "bounds"
"""Key in the settings of a step: the result of `bounds_of`."""
LOWEST_LOG_STD, HIGHEST_LOG_STD = -5.0, 2.0
TINY = 1e-6
"""Added to the slope of the squashing before taking its logarithm, as in CleanRL."""


def actor_shapes(body: Body) -> Shapes:
    """Inputs and outputs of the actor: "mean" and "log_std" before squashing, (A,) each."""
    return Shapes((prod(body.observation),), {"mean": body.actions, "log_std": body.actions})


def critic_shapes(body: Body) -> Shapes:
    """Inputs and outputs of a critic: it takes an observation and an action, and returns "q"."""
    return Shapes((prod(body.observation) + body.actions,), {"q": 1})


def bounds_of(body: Body, device: torch.device) -> dict[str, Tensor]:
    """The squashing of a number u into a body's bounds, tanh(u) · half + middle: "half" and "middle", (A,) each."""
    low, high = (np.array(bound, np.float32) for bound in body.bounds)
    return {
        "half": torch.from_numpy((high - low) / 2).to(device),
        "middle": torch.from_numpy((high + low) / 2).to(device),
    }


def shared_shapes(body: Body) -> Shapes:
    """Inputs and outputs of one network for actor and critics; it takes an image and an action."""
    answers = {"mean": body.actions, "log_std": body.actions, "q1": 1, "q2": 1}
    return Shapes(body.observation, answers, beside=body.actions)


def sampled(outputs: Tensors, normal: Tensor, bounds: Tensors, bounded: bool = True) -> tuple[Tensor, Tensor]:
    """Actions (K, B, A) and the logarithm of their density (K, B). normal (K, B, A): standard normal numbers.

    Gradients flow through the drawn actions (reparameterisation). bounded: whether "log_std" is squashed first.
    """
    log_std = squashed_log_std(outputs["log_std"]) if bounded else outputs["log_std"]
    squashed = tanh(outputs["mean"] + exp(log_std) * normal)
    slope = bounds["half"] * (1 - squashed * squashed) + TINY
    density = -0.5 * normal * normal - log_std - HALF_LOG_TWO_PI - log(slope)
    return squashed * bounds["half"] + bounds["middle"], reduce(torch.add, density.unbind(-1))


def middle(outputs: Tensors, bounds: Tensors) -> Tensor:
    """The middle of the policy, (K, B, A): the squashed mean."""
    return tanh(outputs["mean"]) * bounds["half"] + bounds["middle"]


def normal_like(key_K2: Tensor, count: Tensor, like: Tensor) -> Tensor:
    """Standard normal numbers (K, B, A), with the shape of `like`; B · A is even, since B is a multiple of 4."""
    return normals(uniforms(key_K2, count, like[0].numel())).view(like.shape)


def on_host(numbers: NDArray[np.float32], bounds: Tensors) -> NDArray[np.float32]:
    """Numbers (*, A) → squashed actions. It uses torch's tanh, which gives the same bits at every position. bounds: on
    the host.
    """
    return (tanh(torch.from_numpy(numbers)) * bounds["half"] + bounds["middle"]).numpy()


def read(outputs: Tensors, settings: Tensors) -> dict[str, Tensor]:
    """The values needed for acting, from the actor's outputs: "mean" and "deviation", (K, N, A) each."""
    return {"mean": outputs["mean"], "deviation": exp(squashed_log_std(outputs["log_std"]))}


def read_unbounded(outputs: Tensors, settings: Tensors) -> dict[str, Tensor]:
    """The same as `read` without squashing "log_std"."""
    return {"mean": outputs["mean"], "deviation": exp(outputs["log_std"])}


def squashed_log_std(raw: Tensor) -> Tensor:
    """Squashes numbers of any shape to between `LOWEST_LOG_STD` and `HIGHEST_LOG_STD`."""
    return LOWEST_LOG_STD + 0.5 * (HIGHEST_LOG_STD - LOWEST_LOG_STD) * (tanh(raw) + 1)
