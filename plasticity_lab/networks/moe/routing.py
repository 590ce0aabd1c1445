"""From logits to who is given what: the routings of mixtures of experts.

Legend: K runs, B examples, M tokens of each, N experts, P slots of each, S = N · P slots, expert by expert.

A routing is two tables: dispatch (K, B, S, M), how much of each token a slot is given, and combine (K, B, M, S), how
much of each slot's output a token gets. Slots are dispatch · tokens, and tokens become combine · outputs.
"""

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

import torch
from torch import Tensor

from plasticity_lab.stacking.elementary import exp, log_softmax
from plasticity_lab.stacking.router import CLOSED
from plasticity_lab.stacking.softmax import shares_of_columns, shares_of_rows


class Routing(NamedTuple):
    """dispatch (K, B, S, M), combine (K, B, M, S)."""

    dispatch: Tensor
    combine: Tensor


def soft(parameters: Mapping[str, Tensor], logits_KBMS: Tensor, there: int) -> Routing:
    """Every slot is given a mean over all tokens, and every token gets a mean over all slots.

    parameters: the network's. there: how many of the M tokens are no padding; the others take no part. Source:
    Puigcerver et al. 2024, eqs. 1–3.
    """
    return Routing(shares_of_columns(parameters, logits_KBMS, there), shares_of_rows(parameters, logits_KBMS))


def expert_choice(logits_KBMN: Tensor, slots: int, there: int, prunable: bool = False) -> Routing:
    """Every expert takes the tokens that suit it best, one a slot; a token gets the outputs times its shares.

    A token's share of an expert is the softmax over experts. With one expert, or a single open one, it is 1 whatever
    the router says: then tokens are ranked by their logits, and the router learns nothing. Among equal scores the first
    tokens are taken. slots: P, at most `there`. prunable: whether experts may be closed (see `StackedRouter`). Source:
    Zhou et al. 2022; not in any code of the SoftMoE papers.
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
    """Every token goes to the expert that suits it best, as long as that has a slot left: the first tokens come first.

    What it gets back is the output times its share, the softmax over experts; a token for which there is no slot gets
    nothing. Source: Dopamine's labs/moes, whose top-k router this is for k = 1 (Fedus et al. 2022).
    """
    shares = exp(log_softmax(logits_KBMN))
    chosen = _at(logits_KBMN.detach()[:, :, :there].argmax(dim=3), logits_KBMN.shape[3])  # (K, B, M, N)
    place = chosen.cumsum(dim=2) - 1  # which of the expert's tokens it is
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
