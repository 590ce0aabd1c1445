"""What the outputs of a value agent's network say of each action: a value, or a distribution of returns.

Legend: K runs, B examples, A actions to choose from, Z atoms of a distribution.

Sums over actions are added up one by one: compiled or not, in any pack, they are the same bits.
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


@dataclass(frozen=True)
class ActionValues:
    """How outputs are read.

    actions: A. atoms: Z, at equal distances from the agent's `support_low` to its `support_high`; 0 where an action has
    a value alone. dueling: whether the network answers the state's value and each action's advantage over the mean of
    all (Wang et al. 2016). The distribution of an action is the softmax over its Z numbers (Bellemare et al. 2017),
    which are sums of value and advantage, atom by atom, where both are asked for (Hessel et al. 2018).
    """

    actions: int
    atoms: int = 0
    dueling: bool = False

    def shapes(self, observation: tuple[int, ...], noise: Noise | None = None) -> Shapes:
        """What the network is given and answers: "q", or "value" and "advantage", Z numbers for each action or one."""
        each = max(1, self.atoms)
        if self.dueling:
            return Shapes(observation, {"value": each, "advantage": self.actions * each}, noise=noise)
        return Shapes(observation, {"q": self.actions * each}, noise=noise)

    def of_all(self, outputs: Outputs, settings: AgentSettings) -> Tensor:
        """The value of every action, (K, B, A), without a gradient.  settings: the agent's, name → (K,)."""
        numbers = self._of_all(outputs)
        if not self.atoms:
            return numbers[..., 0]
        return summed_last(exp(log_softmax(numbers)) * self.support(settings)[:, None, None])

    def read(self, outputs: Outputs, settings: AgentSettings) -> dict[str, Tensor]:
        """What acting needs to know: "q", as `of_all` gives it."""
        return {"q": self.of_all(outputs, settings)}

    def of_actions(self, outputs: Outputs, action_KB: Tensor) -> Tensor:
        """The numbers of one action for each example, with their gradient: (K, B), or (K, B, Z) before the softmax.

        Those of the other actions are never laid out, and no gradient is summed up over them.
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

    def support(self, settings: AgentSettings) -> Tensor:
        """The returns that the atoms stand for, (K, Z)."""
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
    """Over the actions: (K, B, A, Z) → (K, B, Z)."""
    return reduce(torch.add, by_action.unbind(2)) / by_action.shape[2]
