"""The outputs of a value agent's network as values of actions, or as distributions of returns.

Legend: K runs, B examples, A actions to choose from, Z atoms of a distribution.

Sums over actions are added one by one, so that the bits are the same in every pack, compiled or not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from plasticity_lab.networks.network import Noise, Shapes
from plasticity_lab.stacking.elementary import exp, log_softmax, summed_last

Outputs = Mapping[str, Tensor]
AgentSettings = Mapping[str, Tensor]
SUPPORT = "support"
"""See `ActionValues.with_support`."""


@dataclass(frozen=True)
class ActionValues:
    """The interpretation of a network's outputs.

    actions: A.
    atoms: Z, at equal distances from the agent's `support_low` to its `support_high`; 0 if an action has only a value.
        The distribution of an action is the softmax over its Z numbers (Bellemare et al. 2017).
    dueling: whether the network outputs the state's value and each action's advantage over the mean advantage (Wang et
        al. 2016). With atoms, value and advantage are added atom by atom (Hessel et al. 2018).
    """

    actions: int
    atoms: int = 0
    dueling: bool = False

    def shapes(self, observation: tuple[int, ...], noise: Noise | None = None) -> Shapes:
        """The network's inputs and outputs: "q", or "value" and "advantage", with Z numbers or one for each action."""
        each = max(1, self.atoms)
        if self.dueling:
            return Shapes(observation, {"value": each, "advantage": self.actions * each}, noise=noise)
        return Shapes(observation, {"q": self.actions * each}, noise=noise)

    def of_all(self, outputs: Outputs, settings: AgentSettings) -> Tensor:
        """The value of every action, (K, B, A).  settings: the agent's, name → (K,)."""
        numbers = self._of_all(outputs)
        if not self.atoms:
            return numbers[..., 0]
        return summed_last(exp(log_softmax(numbers)) * self.support(settings)[:, None, None])

    def read(self, outputs: Outputs, settings: AgentSettings) -> dict[str, Tensor]:
        """The values needed for acting: "q", see `of_all`."""
        return {"q": self.of_all(outputs, settings)}

    def of_actions(self, outputs: Outputs, action_KB: Tensor) -> Tensor:
        """The numbers of one action for each example, with their gradient: (K, B), or (K, B, Z) before the softmax.

        The numbers of other actions are not stored, and no gradient is summed over them.
        """
        if not self.dueling:
            own = _at(self._by_action(outputs["q"]), action_KB)
        else:
            advantages = self._by_action(outputs["advantage"])
            own = outputs["value"] + _at(advantages, action_KB) - _mean(advantages)
        return own if self.atoms else own.squeeze(-1)

    def distributions(self, outputs: Outputs, action_KB: Tensor) -> Tensor:
        """The probabilities of one action's atoms for each example, (K, B, Z)."""
        return exp(log_softmax(self.of_actions(outputs, action_KB)))

    def all_distributions(self, outputs: Outputs) -> Tensor:
        """The probabilities of every action's atoms, (K, B, A, Z)."""
        return exp(log_softmax(self._of_all(outputs)))

    def divergence(self, settings: AgentSettings, outputs: Outputs, reference: Outputs) -> Tensor:
        """The mean over the actions of the squared difference of both values, (K, B); the gradient reaches `outputs`.

        Source: Tang et al. 2025, `reg_loss` in crl_minatar/agents/double_dqn_c_chain.py; a distribution has its mean.
        """
        change = self.of_all(outputs, settings) - self.of_all(reference, settings).detach()
        return reduce(torch.add, (change * change).unbind(2)) / self.actions

    def with_support(self, settings: AgentSettings) -> AgentSettings:
        """The settings with the returns of the atoms, so that a graph computes them once."""
        return {**settings, SUPPORT: self.support(settings)} if self.atoms else settings

    def support(self, settings: AgentSettings) -> Tensor:
        """The returns of the atoms, (K, Z)."""
        if SUPPORT in settings:
            return settings[SUPPORT]
        low, high = settings["support_low"].unsqueeze(1), settings["support_high"].unsqueeze(1)
        share = torch.arange(self.atoms, device=low.device) / (self.atoms - 1)
        return low + (high - low) * share

    def _of_all(self, outputs: Outputs) -> Tensor:
        """The numbers of every action, (K, B, A, Z) or (K, B, A, 1)."""
        if not self.dueling:
            return self._by_action(outputs["q"])
        advantages = self._by_action(outputs["advantage"])
        return outputs["value"].unsqueeze(2) + advantages - _mean(advantages).unsqueeze(2)

    def _by_action(self, numbers: Tensor) -> Tensor:
        """(K, B, A·Z) → (K, B, A, Z)."""
        return numbers.unflatten(2, (self.actions, -1))


def _at(by_action: Tensor, action_KB: Tensor) -> Tensor:
    """(K, B, A, Z) → (K, B, Z)."""
    index = action_KB[..., None, None].expand(*action_KB.shape, 1, by_action.shape[3])
    return by_action.gather(2, index).squeeze(2)


def _mean(by_action: Tensor) -> Tensor:
    """The mean over the actions: (K, B, A, Z) → (K, B, Z)."""
    return reduce(torch.add, by_action.unbind(2)) / by_action.shape[2]
