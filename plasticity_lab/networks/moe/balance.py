"""Losses that keep a router from giving all tokens to a few experts.

Legend: K runs, B examples, M tokens of each, N experts.

Each is the squared coefficient of variation over the experts of one example, (σ / μ)², and of a run the mean over its
examples. Source: Riquelme et al. 2021, Appendix A.2, as in Dopamine's labs/moes, where an entropy of counts stands
beside them: it has no gradient, and would change nothing.
"""

from torch import Tensor

from plasticity_lab.stacking.elementary import exp, log_softmax, normal_distribution, summed_last


def importance(logits_KBMN: Tensor) -> Tensor:
    """Of the experts' shares (the softmax over them), summed over the tokens.  → (K,)."""
    return _mean_variation(summed_last(exp(log_softmax(logits_KBMN)).transpose(2, 3)))


def load(logits_KBMN: Tensor) -> Tensor:
    """Of the probability that an expert is chosen where its logit has noise of σ = 1 / N, a mean over tokens.  → (K,).

    What is to be exceeded is the largest logit as it is, since tokens are routed without noise; in Dopamine's code that
    has noise too.
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
