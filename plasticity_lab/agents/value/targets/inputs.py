"""The tensors that a target is computed from, and the two forms of a target.

Legend: K runs, B rows of a batch (padded), A actions to choose from, Z atoms of a distribution.
"""

from collections.abc import Mapping
from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor

from plasticity_lab.agents.value.action_values import ActionValues, Outputs
from plasticity_lab.agents.value.targets.returns import mixed, projected, values

Tensors = Mapping[str, Tensor]
TARGET_NEXT = "target network, next states"
ONLINE_NEXT = "network, next states"
TARGET_NOW = "target network, current states"
ONLINE_NOW = "network, current states"
"""The forward passes that a target may declare: the network that computes them, and the states."""


class StateValues(NamedTuple):
    """The outputs of one network for the states of a batch.

    agent: the agent's settings, name → (K,).
    """

    action_values: ActionValues
    outputs: Outputs
    agent: Tensors

    def q(self) -> Tensor:
        """The value of every action, (K, B, A). With atoms: the mean of its distribution."""
        return self.action_values.of_all(self.outputs, self.agent)

    def of_actions(self, action_KB: Tensor) -> Tensor:
        """The value of one action for each example, (K, B). Only without atoms."""
        return self.action_values.of_actions(self.outputs, action_KB)

    def distributions(self, action_KB: Tensor) -> Tensor:
        """The probabilities of one action's atoms for each example, (K, B, Z). Only with atoms."""
        return self.action_values.distributions(self.outputs, action_KB)

    def all_distributions(self) -> Tensor:
        """The probabilities of every action's atoms, (K, B, A, Z). Only with atoms."""
        return self.action_values.all_distributions(self.outputs)


class TargetInputs(NamedTuple):
    """The arguments of `Target.target`.

    passes: the outputs of the passes that the target declares, by name.
    action (K, B): the actions taken. returns (K, B): rewards of n steps, discounted. discount (K, B): γⁿ, or 0 if no
        state follows.
    settings: the target's own settings, name → (K,). agent: the agent's.
    """

    action_values: ActionValues
    passes: Mapping[str, StateValues]
    action: Tensor
    returns: Tensor
    discount: Tensor
    settings: Tensors
    agent: Tensors

    @property
    def atoms(self) -> int:
        """Z; 0 if an action has only a value."""
        return self.action_values.atoms

    def by_value(self, next_KB: Tensor) -> Tensor:
        """returns + discount · the value of the next state, (K, B). Only without atoms."""
        return values(next_KB, self.returns, self.discount)

    def by_action(self, next_action_KB: Tensor) -> Tensor:
        """The target if this action follows, by the target network: (K, B), or with atoms (K, B, Z)."""
        following = self.passes[TARGET_NEXT]
        if not self.atoms:
            return self.by_value(following.of_actions(next_action_KB))
        probabilities, support = following.distributions(next_action_KB), self.action_values.support(self.agent)
        return projected(probabilities, support, self.returns, self.discount)

    def by_weights(
        self, weights_KBA: Tensor, added_KBA: Tensor | None = None, bonus_KB: Tensor | None = None
    ) -> Tensor:
        """The target if the next action is drawn with these probabilities: (K, B), or with atoms (K, B, Z).

        The value of an action is the target network's.
        added: a number for each action, added to its value. bonus: a number added to the returns.
        Values: returns + bonus + discount · Σ weights · (q + added). With atoms: the mixture (by the weights) of the
        projected distributions of returns + bonus + discount · (z + added).
        """
        following = self.passes[TARGET_NEXT]
        returns = self.returns if bonus_KB is None else self.returns + bonus_KB
        if not self.atoms:
            q = following.q() if added_KBA is None else following.q() + added_KBA
            # Added one by one: the bits are the same in every pack, compiled or not.
            return values(reduce(torch.add, (weights_KBA * q).unbind(-1)), returns, self.discount)
        added = torch.zeros_like(weights_KBA) if added_KBA is None else added_KBA
        support = self.action_values.support(self.agent)
        return mixed(weights_KBA, following.all_distributions(), added, support, returns, self.discount)
