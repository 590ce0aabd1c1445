"""n-step returns: the discounted sum of rewards from a step on, and the state to bootstrap from.

Legend: K runs, B requested steps.

R = Σ γ^i r_{t+i} over i < n; the caller adds γ^n times the value of the observation at t + n. If step t + j with j < n
is terminal, the sum ends with its reward and no value is added. Source: Sutton & Barto 2018, eq. 7.1; with n = 1 the
target of Mnih et al. 2015.

The ring stores each frame once, so it lacks the observation after a truncated step: the next row shows another episode.
A step is not `usable` if its return would need that observation. No value is bootstrapped across a truncation, as in
Dopamine's accumulator (Castro et al. 2018). The same is true for an episode that a new task interrupted.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.kernels import replay as kernel
from plasticity_lab.replay.ring import Index, Ring


@dataclass(frozen=True)
class Returns:
    """The n-step returns from B steps of each run.

    returns: (K, B). discount: (K, B), the factor for the value of the observation at `following`. It is 0 if no value
    is added; then `following` is the step itself.
    """

    returns: NDArray[np.float32]
    discount: NDArray[np.float32]
    following: Index


@dataclass(frozen=True)
class NStep:
    """Computes n-step returns.

    n: steps of a return. life_loss_is_terminal: whether a return ends at a lost life, although the episode continues;
    frames are still stacked across it, as they were while acting.
    """

    n: int
    life_loss_is_terminal: bool = False

    def usable(self, ring: Ring, index: Index) -> NDArray[np.bool_]:
        """Whether the ring holds all rewards and observations that the return from these steps needs, (K, B)."""
        undecided, usable = ring.whole(index), np.zeros(index.step.shape, np.bool_)
        for i in range(self.n):
            at, then = (Index(index.step + further, index.environment) for further in (i, i + 1))
            undecided &= at.step < ring.end
            terminal = self.terminal(ring, at)
            usable |= undecided & terminal
            undecided &= ~terminal & ~ring.of("truncated", at)
            undecided &= (then.step < ring.end) & ~ring.of("first", then)
        return usable | undecided

    def of(self, ring: Ring, index: Index, gamma: NDArray[np.float64]) -> Returns:
        """The returns from usable steps.  gamma: (K,).  Rewards are summed one by one, in float64."""
        if kernel.is_used():
            summed, discount, following = kernel.returns(
                ring.arrays["reward"], ring.arrays["terminated"], ring.arrays["life_lost"], self.life_loss_is_terminal,
                index.step, index.environment, gamma, self.n,
            )  # fmt: skip
            return Returns(summed, discount, Index(following, index.environment))
        shape = index.step.shape
        returns, factor = np.zeros(shape), np.ones(shape)
        goes_on = np.ones(shape, np.bool_)
        for i in range(self.n):
            at = Index(np.where(goes_on, index.step + i, index.step), index.environment)
            returns += np.where(goes_on, factor * ring.of("reward", at), 0.0)
            factor = factor * gamma[:, None]
            goes_on &= ~self.terminal(ring, at)
        discount = np.where(goes_on, factor, 0.0)
        following = Index(np.where(goes_on, index.step + self.n, index.step), index.environment)
        return Returns(returns.astype(np.float32), discount.astype(np.float32), following)

    def terminal(self, ring: Ring, index: Index | int) -> NDArray[np.bool_]:
        """Whether a return ends with the rewards of these steps, (K, B), or of a step in every environment, (K, N)."""
        terminated = ring.of("terminated", index)
        return terminated | ring.of("life_lost", index) if self.life_loss_is_terminal else terminated
