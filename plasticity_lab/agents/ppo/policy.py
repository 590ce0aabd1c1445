"""The distribution of actions given by a network's outputs: a choice among several actions, or independent Gaussians.

Legend: K runs, B examples, A actions to choose from, or numbers of an action.

Sums over A are added one by one, so that the bits are the same in every pack, compiled or not.
"""

import math
from collections.abc import Mapping
from functools import reduce
from math import e, pi

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.environments.body import Body
from plasticity_lab.networks.network import Shapes
from plasticity_lab.stacking.elementary import exp, log, log_softmax

Outputs = Mapping[str, Tensor]
HALF_LOG_TWO_PI = 0.5 * math.log(2 * pi)
HALF_LOG_TWO_PI_E = 0.5 * math.log(2 * pi * e)


def shapes_of(body: Body) -> Shapes:
    """A network's inputs and outputs for a body.

    "policy": a number for each choice, or the mean of each number of an action; "value". For continuous actions also
    "log_std", the logarithms of their standard deviations, which do not depend on the observation.
    """
    constants = {} if body.discrete else {"log_std": body.actions}
    return Shapes(body.observation, {"policy": body.actions, "value": 1}, constants)


def copied(outputs: Outputs, settings: Outputs) -> dict[str, Tensor]:
    """The outputs without views of parameters: a graph that returns such a view cannot be kept as Python."""
    return {name: value.clone() if name == "log_std" else value for name, value in outputs.items()}


def deviation(log_std: NDArray[np.float32]) -> NDArray[np.float32]:
    """The standard deviations for their logarithms; any shape."""
    return exp(torch.tensor(log_std)).numpy()


def log_probability(outputs: Outputs, action: Tensor) -> Tensor:
    """The log-probability of each action (K, B) whole or (K, B, A): (K, B)."""
    if "log_std" not in outputs:
        return log_softmax(outputs["policy"]).gather(-1, action.unsqueeze(-1)).squeeze(-1)
    log_std = outputs["log_std"]
    standard = (action - outputs["policy"]) * exp(-log_std)
    return _summed(-0.5 * standard * standard - log_std - HALF_LOG_TWO_PI)


def entropy(outputs: Outputs) -> Tensor:
    """The entropy of the distribution, in nats: (K, B)."""
    if "log_std" in outputs:
        return _summed(outputs["log_std"] + HALF_LOG_TWO_PI_E)
    logs = log_softmax(outputs["policy"])
    return -_summed(exp(logs) * logs)


def divergence(settings: Outputs, outputs: Outputs, reference: Outputs) -> Tensor:
    """How far a policy is from a reference, (K, B); the gradient reaches `outputs` alone.

    For continuous actions: the mean over an action's numbers of the squared difference of both means. For a choice
    among actions: the cross-entropy −Σ p⁰ log(p + 1e-8), which is the reference's entropy if both are equal. settings:
    the agent's; none is read.
    Source: Tang et al. 2025, `reg_loss` in crl_dmc/crl_run_ppo_c_chain_dmc.py and `p_reg_loss` in
        crl_gym_classic_control/basic_utils.py.
    """
    policy, fixed = outputs["policy"], reference["policy"].detach()
    if "log_std" in outputs:
        return _summed((policy - fixed) * (policy - fixed)) / policy.shape[-1]
    return -_summed(exp(log_softmax(fixed)) * log(exp(log_softmax(policy)) + 1e-8))


def _summed(values: Tensor) -> Tensor:
    """The sum over the last dimension, added one by one."""
    return reduce(torch.add, values.unbind(-1))
