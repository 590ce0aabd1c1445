"""C-CHAIN: outputs on a second batch stay near the outputs of the network one update ago; the weight tunes itself.

Legend: K runs, B examples, W rounds of the window.
"""

from typing import ClassVar

import torch
from torch import Tensor

from plasticity_lab.component import Others, check_limits, setting, with_settings
from plasticity_lab.interventions.declared import restarts
from plasticity_lab.interventions.intervention import OUTPUTS, SECOND_BATCH, TASK_BEGINS, Intervention
from plasticity_lab.interventions.now import Now, Penalty, State, Tensors
from plasticity_lab.records.measures import Column, Measure
from plasticity_lab.stacking.products import exact_sums

PREVIOUS = "previous "
"""Prefix of the state's entries for the network before its last update."""
PARTS = "all", "means", "none"
"""The parts of the state that may begin again with each task; the means include c."""
MEANS = "window", "sums", "lap", "round", "rounds", "coefficient"
SMALLEST = 1e-8
"""Added to the mean divergence, as in the authors' code."""


@with_settings
class CChain(Intervention):
    """c · the mean over a second batch of D(f_θ(x'), f_θ'(x')), per run, in the loss; θ' is θ before its last update.

    D is the agent's divergence (`Now.divergence`). c = max(strength · |L| / (D + 1e-8), least). Here |L| and D are
    means over a window of the last rounds: L is the mean loss of a batch (for an actor, the policy's), and a round has
    all updates that learn from the same data. In the first rounds c is `initial`. With a strength of 0 c is always 0.
    Both networks are in evaluation mode: a randomised activation has its mean slope.

    The window is a ring in the state. Its sums, in float64, change by the difference of the new entry and the oldest
    one; whenever the ring comes round, they are replaced by the sums of that lap, so that no rounding accumulates.
    Source: Tang et al. 2025 (ICML), and its code; docs/pages/reference/interventions/c_chain.md lists the differences.
    """

    requires = frozenset({OUTPUTS, SECOND_BATCH, TASK_BEGINS})
    objects_to = frozenset({"intervention"})
    watches_outputs = True
    needs_before = True
    leaves_parameters = True
    forwards = 4  # a pass of the previous network, and a pass with its gradient
    operations = 10  # the copy of the parameters, like Hare and Tortoise's
    copies = 2  # the previous network, and the one before the optimizer's step
    columns: ClassVar = (
        Column(Measure("coefficient", "Weight c of C-CHAIN's term", short="c"), "coefficient", {"task": "value"}),
    )

    strength: float = setting(0.05, at_least=0)  # ρ: the term, relative to the loss
    initial: float = setting(100.0, at_least=0)  # c in the first rounds
    least: float = setting(0.0, at_least=0)  # the smallest c afterwards
    first: int = setting(50, at_least=1)  # rounds with the initial c
    window: int = setting(100, at_least=1)  # W: rounds of the means
    of_round: str = setting("last", one_of=("last", "mean"))  # a round's entry: its last update, or the mean of all
    skipped: int = setting(2, at_least=0)  # updates without the term, at first
    per_task: str = setting("all", one_of=PARTS)  # the parts that begin again with each task

    def __post_init__(self) -> None:
        check_limits(self, "intervention")
        self.numbers = 2 * self.window

    def objection(self, others: Others) -> str | None:
        """With a fresh network for each task, the previous network must begin again too."""
        if self.per_task != "all" and restarts(others):
            return (
                "a task's fresh network would be kept near the network of the task before; with its per_task=all it "
                "begins again with each task"
            )
        return super().objection(others)

    def start(self, now: Now) -> State:
        """The previous network, "previous <name>", with the number of "updates" since it began (K,); and the means: the
        entries of the window (K, W, 2), their sums, the sums of the present lap, the sums of the present round, and the
        number of rounds with entries, all (K, 2), and the coefficient c (K,). Pairs are |L| and D.
        """
        first = next(iter(now.parameters.values()))
        pairs = torch.zeros(len(first), 2, dtype=torch.float64, device=first.device)
        begun = {"window": first.new_zeros(len(first), self.window, 2), "coefficient": first.new_zeros(len(first))}
        begun |= {name: pairs.clone() for name in ("sums", "lap", "round")}
        begun["rounds"] = torch.zeros(len(first), 2, dtype=torch.int64, device=first.device)
        begun["updates"] = begun["rounds"][:, 0].clone()
        return {**begun, **{f"{PREVIOUS}{name}": value.clone() for name, value in now.network.items()}}

    def penalty(self, now: Now) -> Penalty:
        """(K,), and notes c (K,) and the losses of the update, (K, 2)."""
        assert now.forward is not None
        assert now.second is not None
        assert now.divergence is not None
        assert now.loss is not None
        weights = torch.full_like(now.loss[0], 1 / now.loss.shape[1]) if now.weights is None else now.weights
        previous = {name: now.state[f"{PREVIOUS}{name}"] for name in now.network}
        reference, _ = now.forward(previous, now.second)
        outputs, _ = now.forward(now.parameters, now.second)
        acts_K1 = (now.state["updates"] >= self.skipped).unsqueeze(1)
        each_KB = torch.where(acts_K1, now.divergence(outputs, reference) * weights, 0.0)
        losses_K2 = torch.stack([exact_sums(now.loss * weights), exact_sums(each_KB)], dim=1)
        coefficient_K = torch.where(_position(now) == 0, self._tuned(now), now.state["coefficient"])
        noted = {"coefficient": coefficient_K, "losses": losses_K2}
        return Penalty(coefficient_K * each_KB.sum(dim=1), noted)

    def after_step(self, now: Now) -> State:
        """The update's losses enter the window; its entries change in place."""
        state, position = now.state, _position(now)
        begins = position == 0
        # A round that is skipped as a whole has no divergence.
        acts_K = state["updates"] + now.round > self.skipped
        rounds_K2 = state["rounds"] + begins * torch.stack([torch.ones_like(acts_K), acts_K], dim=1)
        losses_K2 = now.noted["losses"].double()
        if self.of_round == "mean":
            losses_K2 = losses_K2 + torch.where(begins, 0.0, state["round"])
        entry_K2 = (losses_K2 / (position + 1) if self.of_round == "mean" else losses_K2).abs().float()
        slot_K11 = ((rounds_K2[:, 0] - 1) % self.window).view(-1, 1, 1)
        at = slot_K11.expand(-1, 1, 2)
        oldest_K2 = state["window"].gather(1, at).squeeze(1).double()
        state["window"].scatter_(1, at, entry_K2.unsqueeze(1))
        slot_K1, entry_K2 = slot_K11.squeeze(1), entry_K2.double()
        lap_K2 = torch.where(begins & (slot_K1 == 0), 0.0, state["lap"])
        lap_K2 = lap_K2 + entry_K2 - torch.where(begins, 0.0, oldest_K2)
        sums_K2 = torch.where(slot_K1 == self.window - 1, lap_K2, state["sums"] + (entry_K2 - oldest_K2))
        following = {"sums": sums_K2, "lap": lap_K2, "round": losses_K2, "rounds": rounds_K2}
        following |= {"updates": state["updates"] + 1, "coefficient": now.noted["coefficient"]}
        return {**state, **following, **{f"{PREVIOUS}{name}": value for name, value in now.before.items()}}

    def before_task(self, now: Now) -> State:
        """With `per_task`, means begin again, or everything: then the previous network is the present one."""
        begun = {}
        if self.per_task != "none":
            begun |= {name: torch.zeros_like(now.state[name]) for name in MEANS}
        if self.per_task == "all":
            begun |= {f"{PREVIOUS}{name}": value.clone() for name, value in now.network.items()}
            begun["updates"] = torch.zeros_like(now.state["updates"])
        return {**now.state, **begun}

    def measured(self, state: State) -> Tensors:
        """c of the last update, (K,)."""
        return {"coefficient": state["coefficient"]}

    def _tuned(self, now: Now) -> Tensor:
        """c of a round that begins, (K,), by the rounds before."""
        rounds_K2 = now.state["rounds"]
        loss_K, divergence_K = (now.state["sums"] / rounds_K2.clamp(min=1, max=self.window)).unbind(1)
        strength, least, initial = (now.settings[name] for name in ("strength", "least", "initial"))
        tuned_K = torch.maximum((strength * loss_K / (divergence_K + SMALLEST)).float(), least)
        chosen_K = torch.where(rounds_K2[:, 0] >= self.first, tuned_K, initial)
        return torch.where(strength > 0, chosen_K, 0.0)


def _position(now: Now) -> Tensor:
    """The updates of the present round before this one, ()."""
    assert now.count is not None
    return now.count % now.round
