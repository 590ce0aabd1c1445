"""The network of a pack in training, with its optimizer, intervention and target networks.

Legend: K runs, S updates, B examples, D numbers of an example, O numbers of an output.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plasticity_lab.agents.network_change import NetworkChange
from plasticity_lab.agents.observations import as_floats
from plasticity_lab.agents.optimizer_step import BY_STEP, OF_RULE, RATE, TrainState, UpdateInputs, of_moment
from plasticity_lab.agents.parts import Parts
from plasticity_lab.agents.step_counts import StepCounts
from plasticity_lab.agents.target_network import TargetNetwork
from plasticity_lab.agents.update import Loss, example_losses
from plasticity_lab.diagnostics.view import View
from plasticity_lab.interventions.held import Held
from plasticity_lab.interventions.now import ComingData, Examples, LogLikelihood, Now
from plasticity_lab.networks.model import Model
from plasticity_lab.randomness.device import run_keys
from plasticity_lab.records.measures import of_network
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.run_axis import aligned, on_run_axis
from plasticity_lab.stacking.schedule import Schedule
from plasticity_lab.stacking.update_rule import UpdateRule


class PackedNetwork:
    """Parameters, moments and the intervention's state of K runs on one device. Every agent has one or several of
    these.

    updates: updates since the beginning; never reset, unlike the optimizer's count.
    body: the environment with the active parts; None if there is only one environment.
    name: the model's prefix, which distinguishes the networks of an agent (actor, critic). It is part of the names of
        parameters, units, random numbers and columns. Empty if there is only one network.
    optimizers: the runs' optimizers for this network; None for the optimizers in `parts`.
    targets: the target networks that follow this one.
    """

    def __init__(
        self, parts: Parts, model: Model, device: torch.device, optimizers: Sequence[Optimizer] | None = None
    ) -> None:
        optimizers = parts.optimizers if optimizers is None else optimizers
        self.model, self.name, self.device, self.seeds = model, model.prefix, device, parts.init_seeds
        self.optimizer, self.intervention = optimizers[0], parts.interventions[0]
        self.settings = {
            "activation": on_run_axis(parts.activations, device),
            "optimizer": on_run_axis(optimizers, device, torch.float64),
            "intervention": on_run_axis(parts.interventions, device),
            "agent": on_run_axis(parts.agents, device),
        }
        self.keys = self.keys_of("intervention")
        self.body: str | None = None
        self.parameters = model.start(parts.init_seeds, device)
        self.moments = self.optimizer.start(self.learned)
        self.rule = self.optimizer.start_state(self.learned)
        if isinstance(self.optimizer, UpdateRule) and self.optimizer.draws:
            self.settings[OF_RULE] = {"keys": self.keys_of("optimizer")}
        self.targets: list[TargetNetwork] = []
        self.schedule, self._lengths = Schedule(optimizers), {"task": 1, "run": 1}
        self._task_began = self.updates = 0  # updates before the present task, and all updates
        self.change, own = NetworkChange(parts, model), self.settings["intervention"]
        self._counts = StepCounts(self.change)
        everything = Now(model, self.learned, own, {}, self.moments, seeds=self.seeds, frozen=self.frozen)
        self.kept = self._with_moments(self.intervention.start(everything))
        if self.intervention.ages(self.kept):
            own = self.settings["optimizer"]
            self.settings[BY_STEP] = self.optimizer.corrections(own, 1, self.optimizer.settled(own))

    @property
    def learned(self) -> Mapping[str, Tensor]:
        """The parameters without frozen ones."""
        return self.model.learned(self.parameters)

    @property
    def frozen(self) -> dict[str, Tensor]:
        """The parameters that nothing trains (see `interventions.changing`)."""
        return self.model.frozen(self.parameters)

    def keys_of(self, purpose: str) -> Tensor:
        """The runs' keys of random numbers for a purpose, (K, 2). They differ between networks of different names."""
        return run_keys(self.seeds, f"{self.name} {purpose}" if self.name else purpose, self.device)

    def target(self) -> TargetNetwork:
        """A copy of the current parameters, which follows this network on request.

        The agent stores the copy's state next to this network's state, and includes its memory in the cost.
        """
        self.targets.append(TargetNetwork(self))
        return self.targets[-1]

    def settings_on_host(self, part: str) -> dict[str, NDArray[np.float64]]:
        """The settings of a part that are on the run axis, name → (K,)."""
        return {name: value.cpu().numpy().astype(np.float64) for name, value in self.settings[part].items()}

    @property
    def step_keys(self) -> dict[str, Tensor]:
        """The random-number keys of an update, purpose → (K, 2)."""
        purposes = ("activation", *(("noise",) if self.model.noise(1) else ()))
        return {**{purpose: self.keys_of(purpose) for purpose in purposes}, "intervention": self.keys}

    @property
    def train_state(self) -> TrainState:
        """The tensors that an update changes, for the active environment."""
        return TrainState(
            self.model.active(self.parameters, self.body),
            {kind: self.model.active(values, self.body) for kind, values in self.moments.items()},
            self.kept,
            {kind: self.model.active(values, self.body) for kind, values in self.rule.items()},
        )

    @property
    def tested(self) -> Mapping[str, Tensor]:
        """The parameters that tests use, name → (K, ...): the network's, unless the intervention tests others."""
        return self.intervention.tested(self.parameters, self.kept)

    @torch.no_grad()
    def answers(
        self, x: NDArray[np.float32] | NDArray[np.uint8], body: str | None = None
    ) -> dict[str, NDArray[np.float32]]:
        """The outputs of a test for an environment, name → (K, B, O), by the `tested` parameters; all on the host.

        x: (K, B, D), or images (K, B, C, H, W). Bytes are scaled on the device (see `as_floats`).
        body: the environment; None for the active one.
        Rows are padded, so that a run's outputs do not depend on its pack, even with few examples.
        """
        there = x.shape[1]
        padded = np.pad(x.reshape(*x.shape[:2], -1), ((0, 0), (0, aligned(there) - there), (0, 0)))
        x_KBD, shape = as_floats(torch.from_numpy(padded).to(self.device)), self.settings["activation"]
        outputs, _ = self.model.forward(self.tested, shape, x_KBD, None, body or self.body)
        return {name: value[:, :there].cpu().numpy() for name, value in outputs.items()}

    def untrained(self) -> dict[str, Tensor]:
        """The parameters before the first update, name → (K, ...)."""
        return self.model.start(self.seeds, self.device)

    def corrections(self, updates: int) -> dict[str, Tensor]:
        """The optimizer's corrections for the next updates, name → (S, ...); see `UpdateInputs.corrections`."""
        apart = self.body is not None and any(self.model.owner(name) for name in self.parameters)
        body = self.body if apart else None
        own = self._counts.corrections(self.optimizer, self.settings["optimizer"], body, self.updates, updates)
        if self.schedule.active:
            first, length = self.updates, self._lengths[self.schedule.by]
            first -= self._task_began if self.schedule.by == "task" else 0
            own[RATE] = self.schedule.factors(first, updates, length).to(self.device)
        return own

    def update_inputs(self, count: Tensor, corrections: Mapping[str, Tensor]) -> UpdateInputs:
        """The inputs that no agent changes. count (): number of earlier updates. corrections: a row of the table."""
        return UpdateInputs(self.settings, self.keys, count, corrections)

    def due(self, most: int) -> int:
        """How many of the next `most` updates can be taken before the intervention acts outside of an update."""
        most, every = self.change.until(self.updates, most), self.intervention.every
        return most if every is None else min(most, every - self.updates % every)

    def held(self) -> Held:
        """The simple work of the intervention in the next updates."""
        return self.intervention.held(self._now())

    def took(self, updates: int) -> None:
        """Counts updates that were taken, and calls the intervention if it is due."""
        self.updates += updates
        self._counts.took(updates, self.body)
        every = self.intervention.every
        if every is not None and updates and self.updates % every == 0:
            self.kept = self.intervention.every_n_updates(self._now())
        if (runs := self.change.due(self.updates, self.updates)).any():
            self._counts.changed(runs)
            self._change(runs)

    def restored(self, runs: NDArray[np.bool_], updates: int) -> None:
        """Called when runs (K,) got back earlier parameters: applies changes since that number of updates again."""
        if (undone := self.change.due(updates + 1, self.updates)).any():
            self._change(undone & runs)

    def expect(self, task: int, run: int) -> None:
        """Sets the number of updates of the present task, and of the run: the periods of the rate's schedule."""
        self._lengths = {"task": max(1, task), "run": max(1, run)}

    def begin_task(self, task: int, coming: ComingData | None = None) -> None:
        """Work of intervention and optimizer before a task's first update, on active parameters. Does nothing for the
        first task. coming: the task's data, for interventions that need them.
        """
        self._task_began = self.updates
        if task == 0:
            return
        if self.intervention.restarts_agent:
            self._restart_moments()
        self.kept = self.intervention.before_task(self._now(task=task, coming=coming))
        if self.intervention.restarts_agent and self.rule:  # from the present parameters, for active ones alone
            active = self.train_state
            _overwrite(active.rule, self.optimizer.start_state(self.model.learned(active.parameters)))

    def end_task(
        self, task: int, examples: Examples | None = None, log_likelihood: LogLikelihood | None = None
    ) -> None:
        """Work of intervention and optimizer between tasks. examples, log_likelihood: for interventions that need
        them.
        """
        now = self._now(task=task, examples=examples, log_likelihood=log_likelihood)
        self.kept = self.intervention.after_task(now)
        if self.optimizer.reset == "task":
            _overwrite(self.moments, self.optimizer.start(self.learned))
            _overwrite(self.rule, self.optimizer.start_state(self.learned))
            self.kept = self._with_moments(self.intervention.moments_begun(self.kept))
            self._counts.reset()

    def of_intervention(self) -> dict[str, NDArray[Any]]:
        """The intervention's measurements of itself so far, name → (K,). They are part of every evaluation of a task.

        If the network has a name, the columns have the prefix "<name>_" (see `Agent.networks`).
        """
        measured = self.intervention.measured(self.kept)
        return {of_network(self.name, name): value.cpu().numpy() for name, value in measured.items()}

    def view(self, loss: Loss, probe: Mapping[str, Tensor], **more: Any) -> View:
        """The view of this network for diagnostics. more: further fields of `View` that the agent provides."""
        return View(
            self.model,
            self.model.learned(self.train_state.parameters),
            self.settings,
            self.seeds,
            example_losses(loss, self.settings),
            probe,
            body=self.body,
            frozen=self.frozen,
            **more,
        )

    def state(self) -> dict[str, Any]:
        """Parameters, moments, the states of intervention and optimizer, and the counts. The tensors are not copied."""
        rule = {"rule": {kind: dict(values) for kind, values in self.rule.items()}} if self.rule else {}
        schedule = {"task_began": self._task_began} if self.schedule.active else {}
        return {
            "parameters": dict(self.parameters),
            "moments": {kind: dict(values) for kind, values in self.moments.items()},
            "intervention": dict(self.kept),
            "all_updates": self.updates,
            **self._counts.state(),
            **rule,
            **schedule,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Restores a state of this process or of an earlier one, without modifying it."""
        self.parameters = self._copied(state["parameters"])
        self.moments = {kind: self._copied(values) for kind, values in state["moments"].items()}
        self.rule = {kind: self._copied(values) for kind, values in state.get("rule", {}).items()}
        # Entries that an older checkpoint lacks (SNR's `examples`) keep their initial values.
        self.kept = self.kept | self._copied(state["intervention"])
        self._counts.load(state)
        self.updates = state.get("all_updates", state["updates"])  # old checkpoints have one count
        self._task_began = state.get("task_began", 0)

    def weights(self) -> dict[str, Tensor]:
        """The parameters on the host, name → (K, ...)."""
        return {name: value.detach().cpu() for name, value in self.parameters.items()}

    def _restart_moments(self) -> None:
        """Resets the moments of active parameters to their initial values; moments of idle environments stay."""
        parameters, moments, *_ = self.train_state
        _overwrite(moments, self.optimizer.start(self.model.learned(parameters)))
        self.kept = self._with_moments(self.intervention.moments_begun(self.kept))
        self._counts.reset_active(self.body)

    def _change(self, runs: NDArray[np.bool_]) -> None:
        self.change.apply(runs, [self.parameters, *(each.parameters for each in self.targets)], self.moments)

    def _with_moments(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The intervention's state with moments of zero for the entries that it learns."""
        learned = {name: state[name] for name in self.intervention.learned}
        started = self.optimizer.start(learned)
        moments = {of_moment(kind, name): value for kind, of in started.items() for name, value in of.items()}
        return {**state, **moments}

    def _now(self, **more: Any) -> Now:
        parameters, moments, kept, _ = self.train_state
        more |= {"optimizer": self.settings["optimizer"]} if self.intervention.needs_step else {}
        own, activation = self.settings["intervention"], self.settings["activation"]
        return Now(
            self.model, self.model.learned(parameters), own, kept, moments, updates=self.updates, seeds=self.seeds,
            activation=activation, body=self.body, frozen=self.frozen, **more,
            targets=[self.model.learned(self.model.active(each.parameters, self.body)) for each in self.targets],
        )  # fmt: skip

    def _copied(self, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: value.to(self.device, copy=True) for name, value in values.items()}


def _overwrite(values: Mapping[str, Mapping[str, Tensor]], by: Mapping[str, Mapping[str, Tensor]]) -> None:
    """Changes values in place: a recorded step on a GPU reads them at their addresses."""
    for kind, fresh in by.items():
        for name, value in fresh.items():
            values[kind][name].copy_(value)
