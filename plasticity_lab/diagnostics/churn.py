"""Churn: how much a network's outputs have changed since the last measurement, on the same inputs."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from plasticity_lab.diagnostics.diagnostic import TASK, Diagnostic, interval
from plasticity_lab.diagnostics.norms import shared_parameters
from plasticity_lab.diagnostics.view import View
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.measures import Column


class Churn(Diagnostic):
    """Compares the parameters of the last measurement (first: the initial ones) with the present ones, on today's
    probe.

    `greedy_churn`: the share of examples with a different largest output (empty for outputs of one number).
    `output_change`: the root of the mean square change of the outputs. Both use the network's first output. Parameters
    that belong to one environment keep their present values in both. Source: Schaul et al. 2022 (arXiv 2206.00730)
    measure the first for policies, from one update to the next. State: a copy of the parameters, which is in every
    checkpoint.
    """

    passes = 1.0

    def __init__(self, every: int | str = TASK) -> None:
        self.every = interval(every)

    def columns(self, units: Sequence[Unit]) -> list[Column]:
        """The columns of the network."""
        return [
            self.column("greedy_churn", "Churn", "% of examples (churn)", scale=100.0, places=2),
            self.column("output_change", "Change of the outputs", "change"),
        ]

    def start(self, view: View) -> dict[str, Tensor]:
        """The parameters that all environments share."""
        return shared_parameters(view)

    def look(self, view: View) -> dict[str, Tensor]:
        """(K,) each."""
        earlier = replace(view, parameters={**view.parameters, **view.state}, found={})
        (now, *_), (before, *_) = (each.forward().outputs.values() for each in (view, earlier))
        for name, kept in view.state.items():
            kept.copy_(view.parameters[name])
        change = torch.stack([own.reshape(-1).double().square().mean().sqrt() for own in (now - before).unbind()])
        found = {"output_change": change}
        if now.shape[2] > 1:
            other = now.argmax(dim=2) != before.argmax(dim=2)
            found["greedy_churn"] = other.sum(dim=1).double() / other.shape[1]
        return found
