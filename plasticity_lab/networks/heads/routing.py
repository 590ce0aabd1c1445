"""Routings of mixtures of experts: from logits to the shares of tokens in slots, and back; and balancing losses.

Legend: K runs, B examples, M tokens of each, N experts, P slots of each, S = N · P slots, expert by expert; R rows and
C columns of a table.

A routing is two tables. dispatch (K, B, S, M): the weight of each token in a slot. combine (K, B, M, S): the weight of
each slot's output in a token. Slots are dispatch · tokens, and tokens become combine · outputs.
"""

from collections.abc import Mapping
from math import ceil, inf
from typing import NamedTuple

import torch
from torch import Tensor

from plasticity_lab.kernels.through import ThroughKernels
from plasticity_lab.stacking.elementary import exp, log_softmax, normal_distribution, summed_last
from plasticity_lab.stacking.router import CLOSED


class Routing(NamedTuple):
    """dispatch (K, B, S, M), combine (K, B, M, S)."""

    dispatch: Tensor
    combine: Tensor


def soft(parameters: Mapping[str, Tensor], logits_KBMS: Tensor, there: int) -> Routing:
    """Every slot is a mean over all tokens, and every token becomes a mean over all slots.

    parameters: the network's parameters. there: the number of tokens that are not padding; padding has no weight.
    Source: Puigcerver et al. 2024, eqs. 1–3.
    """
    return Routing(shares_of_columns(parameters, logits_KBMS, there), shares_of_rows(parameters, logits_KBMS))


def expert_choice(logits_KBMN: Tensor, slots: int, there: int, prunable: bool = False) -> Routing:
    """Every expert takes the tokens with its highest shares, one a slot; a token gets the outputs times its shares.

    The shares of a token are the softmax over experts. With one expert, or a single open one, they are always 1: then
    tokens are ranked by their logits, and the router learns nothing. Among equal scores the first tokens are taken.
    slots: P, at most `there`. prunable: whether experts may be closed (see `StackedRouter`).
    Source: Zhou et al. 2022; not in any code of the SoftMoE papers.
    """
    experts = logits_KBMN.shape[3]
    shares = exp(log_softmax(logits_KBMN)) if experts > 1 else torch.ones_like(logits_KBMN)
    by = shares if experts > 1 else logits_KBMN
    if prunable:
        alone_K = (logits_KBMN[:, 0, 0] > CLOSED).sum(dim=1) == 1
        by = torch.where(alone_K[:, None, None, None], logits_KBMN, by)
    scores = by.detach()[:, :, :there].transpose(2, 3)  # (K, B, N, M)
    order = scores.argsort(dim=-1, descending=True, stable=True)[..., :slots]
    taken = _at(order, logits_KBMN.shape[2])  # (K, B, N, P, M)
    dispatch = taken.flatten(2, 3)
    gates = taken * shares.transpose(2, 3).unsqueeze(3)
    return Routing(dispatch, gates.flatten(2, 3).transpose(2, 3))


def token_choice(logits_KBMN: Tensor, slots: int, there: int) -> Routing:
    """Every token goes to the expert with its highest share, if a slot is left: the first tokens come first.

    It gets the output times its share, the softmax over experts; a token without a slot gets nothing.
    Source: the top-k router of Dopamine's labs/moes for k = 1 (Fedus et al. 2022).
    """
    shares = exp(log_softmax(logits_KBMN))
    chosen = _at(logits_KBMN.detach()[:, :, :there].argmax(dim=3), logits_KBMN.shape[3])  # (K, B, M, N)
    place = chosen.cumsum(dim=2) - 1  # its position among the tokens of the expert
    slot = torch.where((chosen > 0) & (place < slots), place, slots).to(torch.int64)
    taken = _at(slot, slots + 1)[..., :slots]  # (K, B, M, N, P)
    taken = torch.nn.functional.pad(taken, (0, 0, 0, 0, 0, logits_KBMN.shape[2] - there))
    gates = taken * shares.unsqueeze(4)
    return Routing(taken.flatten(3, 4).transpose(2, 3), gates.flatten(3, 4))


def slots_of(asked: int | float | str, tokens: int, experts: int) -> int:
    """P, the slots of each expert.

    asked: a whole number; a fraction of the tokens, shared by the experts and rounded up (Dopamine's capacity factor);
    or "tokens": as many as there are tokens.
    """
    if asked == "tokens":
        return tokens
    if isinstance(asked, int):
        return asked
    return max(1, ceil(tokens * float(asked) / experts - 1e-9))


def _at(index: Tensor, count: int) -> Tensor:
    """index (*) whole → (*, count), 1 at the index and 0 elsewhere."""
    return (torch.arange(count, device=index.device) == index.unsqueeze(-1)).to(torch.float32)


def shares_of_rows(parameters: Mapping[str, Tensor], x_KBRC: Tensor) -> Tensor:
    """Shares that add up to 1 along each row: e^x over its sum.  → like x.

    parameters: the network's parameters; their type decides whether our kernels compute it.
    """
    if isinstance(parameters, ThroughKernels):
        return parameters.shares(x_KBRC)
    return exp(log_softmax(x_KBRC))


def shares_of_columns(parameters: Mapping[str, Tensor], x_KBRC: Tensor, there: int) -> Tensor:
    """Shares that add up to 1 down each column, over its first `there` rows; the others have 0.  → (K, B, C, R)."""
    if isinstance(parameters, ThroughKernels):
        return parameters.shares(x_KBRC, there).transpose(2, 3)
    columns = x_KBRC.transpose(2, 3)
    absent = torch.arange(columns.shape[3], device=columns.device) >= there
    return exp(log_softmax(torch.where(absent, -inf, columns)))


def importance(logits_KBMN: Tensor) -> Tensor:
    """Variation of the experts' shares (the softmax over experts), summed over the tokens.  → (K,).

    This loss and `load` keep a router from giving all tokens to a few experts. Both are the squared coefficient of
    variation over the experts of one example, (σ / μ)², as a mean over the examples of a run. Source: Riquelme et al.
    2021, Appendix A.2, as in Dopamine's labs/moes. There an entropy of counts is added: it has no gradient.
    """
    return _mean_variation(summed_last(exp(log_softmax(logits_KBMN)).transpose(2, 3)))


def load(logits_KBMN: Tensor) -> Tensor:
    """Variation of the probability that an expert is chosen if its logit has noise of σ = 1 / N.  → (K,).

    The probability is a mean over tokens. The expert is chosen if it exceeds the largest logit without noise, since
    tokens are routed without noise; in Dopamine's code the largest logit has noise too.
    """
    experts = logits_KBMN.shape[3]
    needed = (logits_KBMN.amax(dim=3, keepdim=True) - logits_KBMN) * experts
    chosen = normal_distribution(-needed)
    return _mean_variation(summed_last(chosen.transpose(2, 3)))


def _mean_variation(of_experts_KBN: Tensor) -> Tensor:
    count = of_experts_KBN.shape[2]
    mean = summed_last(of_experts_KBN) / count
    apart = of_experts_KBN - mean.unsqueeze(2)
    variation = summed_last(apart * apart) / count / (mean * mean)
    return summed_last(variation) / variation.shape[1]
