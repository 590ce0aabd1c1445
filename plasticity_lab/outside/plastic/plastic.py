"""An intervention of the laboratory in another training loop: `Plastic(model, optimizer, "redo", every=1000)`."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from plasticity_lab.errors import ConfigError, InputError
from plasticity_lab.interventions.intervention import COMING, EXAMPLES, SECOND_BATCH, Composed, Intervention
from plasticity_lab.interventions.nap import NormalizeAndProject
from plasticity_lab.interventions.now import noting
from plasticity_lab.outside.plastic import checks, group, names
from plasticity_lab.outside.plastic.heads import Heads
from plasticity_lab.outside.plastic.layout import layout_of
from plasticity_lab.outside.plastic.model import Given, Init, OutsideModel, kept, named_outputs
from plasticity_lab.outside.plastic.passes import Passes
from plasticity_lab.outside.plastic.pieces import Live
from plasticity_lab.outside.plastic.situation import Situation
from plasticity_lab.outside.plastic.tasks import (
    Coming,
    Data,
    Examples,
    Loss,
    cross_entropy_with,
    divergence_by,
    log_likelihood_by,
    of_examples,
)
from plasticity_lab.outside.plastic.trace import Trace
from plasticity_lab.outside.plastic.units import places_of


class Plastic:
    """Keeps a module plastic by an intervention of the laboratory.

    model: any module, also within DistributedDataParallel. optimizer: any optimizer of torch, or several; parameters
    that none of them trains are left alone. intervention: a name, with its settings as further arguments; or several,
    name → settings. seed: for its random numbers. init, gain: first weights, for resets: a choice of the laboratory's
    (`default` is PyTorch's for linear layers and convolutions), with the gain of hidden layers; or a function of a
    module and its name that gives the module new weights. leave: names of modules, parameters and places that it
    leaves alone. example: arguments of a forward pass; without them the first pass with gradients shows the structure.
    loss: (outputs, answers) → the loss of each example; divergence: (outputs, reference) → a distance of each example.
    Both are for classes by default. in_round: number of updates that learn from the same data, such as a rollout, for
    `c_chain`.

    Call `step` after the optimizer's step; add `penalty` to the loss, if the intervention has one; call `task_ended`
    between tasks. Raises ConfigError or InputError for everything that it cannot do.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer | Collection[torch.optim.Optimizer],
        intervention: str | Mapping[str, Mapping[str, Any]],
        *,
        seed: int = 0,
        init: Init = "default",
        gain: float = 1.0,
        leave: Collection[str] = (),
        example: Any = None,
        loss: Loss = of_examples,
        divergence: Callable[[Tensor, Tensor], Tensor] | None = None,
        in_round: int = 1,
        **settings: Any,
    ) -> None:
        if settings and not isinstance(intervention, str):
            raise ConfigError(f"{', '.join(settings)}: each of several interventions has its settings in the mapping.")
        self.settings = {intervention: settings} if isinstance(intervention, str) else dict(intervention)
        self.intervention = own = names.together(self.settings)
        self.model, self._group = group.unwrapped(model), group.of(model)
        given = [optimizer] if isinstance(optimizer, torch.optim.Optimizer) else list(optimizer)
        self._optimizers = [group.bare(each) for each in given]
        self._leave = {leave} if isinstance(leave, str) else set(leave)
        of_units = self.settings.keys() <= names.RESET_UNITS  # then the next layer's weights are needed
        self._trained = checks.trained(self.model, self._optimizers, () if of_units else self._leave)
        self._seed, self._init, self._gain, self._loss, self._round = seed, init, gain, loss, in_round
        self._divergence = cross_entropy_with if divergence is None else divergence_by(divergence)
        births = any(names.reads_birth(name, each) for name, each in self.settings.items())
        self._birth = kept(self.model) if births else {}
        self._asked, self._noted, self._before = False, dict[str, Tensor](), dict[str, Tensor]()
        self._by_example = example is not None
        self._loaded: Mapping[str, Any] | None = None
        self._situation: Situation | None = None
        self._heads: Heads | None = None
        self._resets = self.settings.keys() & names.RESET_UNITS
        self._reads = own.watches_units or own.watches_outputs or bool(self._resets)
        self._passes = Passes(self.model, self._begin, self._reads)
        for each in self._optimizers if own.needs_step or own.needs_before else ():
            each.register_step_pre_hook(lambda *_: self._remember())
        if example is not None:
            self._passes.example(example if isinstance(example, tuple) else (example,))

    @property
    def places(self) -> list[str]:
        """The places with units that can be reset, by the names of their layers."""
        return [unit.name for unit in self._now.model.units if not unit.is_sum]

    @property
    def left_alone(self) -> dict[str, str]:
        """The places with units that are not reset, and why."""
        return self._now.model.places.alone | self._now.model.places.refused

    def watch(self) -> AbstractContextManager[None]:
        """Inside this context all calls of the module's parts are one forward pass."""
        return self._passes.watching()

    def penalty(self, loss: Tensor | None = None, second: Any = None) -> Tensor:
        """The term of the loss, (), with gradients; called after the forward pass of the batch.

        loss: the loss of each example, and second: the inputs of a second batch, for `c_chain`.
        """
        now = self._now
        if type(self.intervention).penalty is Intervention.penalty:
            return torch.zeros((), device=now.device)
        parameters = Live(now.model.layout.pieces, now.model.layout.zeros)
        more = self._watched(loss, second) if self.intervention.watches_outputs else {}
        with torch.autocast(now.device.type, enabled=False), self._passes.paused():
            term = noting(self.intervention.penalty(now.now(parameters, **more)))
        self._asked, self._noted = True, {name: value.detach() for name, value in term.noted.items()}
        return term.total.sum()

    @torch.no_grad()
    def step(self) -> None:
        """The intervention's work after a step of the optimizer."""
        own, now = self.intervention, self._now
        if _has_penalty(own) and not self._asked:
            raise InputError(f"{self} adds a term to the loss; add keep.penalty() to it before loss.backward().")
        if self._heads is not None:
            self._heads.step(self._group)
        more: dict[str, Any] = {"before": self._before, "noted": self._noted, "round": self._round}
        if own.watches_units or self._resets:
            more["hidden"] = now.model.hidden([each.detach() for each in self._passes.last()])
        if own.needs_step:
            more["step"] = {name: value - self._before[name] for name, value in now.network().items()}
            rate = float(self._optimizers[0].param_groups[0]["lr"])
            more["optimizer"] = {"lr": torch.tensor([rate], dtype=torch.float64, device=now.device)}
        now.after_step(**more)
        if self._group is not None and self._reads:
            group.agree(now.state, self._group)
        now.every_n_updates()
        self._asked, self._noted, self._before = False, {}, {}
        self._passes.forget()

    @torch.no_grad()
    def task_ended(self, examples: Data | None = None, coming: Data | None = None) -> None:
        """The intervention's work between two tasks.

        examples: inputs and answers from the task that ended (`ewc`); coming: from the next one (`dash`).
        """
        now = self._now
        for needed, data, word in ((EXAMPLES, examples, "examples"), (COMING, coming, "coming")):
            if needed in self.intervention.requires and data is None:
                raise InputError(f"{self} reads examples; call keep.task_ended({word}=(inputs, answers)).")
        ended: dict[str, Any] = {"log_likelihood": log_likelihood_by(self._loss)}
        ended |= {} if examples is None else {"examples": Examples(examples, now.model)}
        ahead = {} if coming is None else {"coming": Coming(coming, now.model, self._loss)}
        with self._passes.paused():
            now.task_ended(ended, ahead)

    @contextmanager
    def tested(self) -> Iterator[nn.Module]:
        """Inside this context the module has the parameters for tests: with `hare_tortoise`, the slow average."""
        now = self._now
        pieces = now.model.pieces
        with torch.no_grad():
            before = {name: piece.value.clone() for name, piece in pieces.items()}
            for name, value in now.tested().items():
                pieces[name].write(value, pieces[name].value)
        try:
            yield self.model
        finally:
            with torch.no_grad():
                for name, value in before.items():
                    pieces[name].value.copy_(value)

    def measured(self) -> dict[str, float]:
        """The intervention's measurements of itself so far, such as the number of resets."""
        return {name: float(value) for name, value in self.intervention.measured(self._now.state).items()}

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs besides the module and its optimizer."""
        if self._situation is None:
            return dict(self._loaded or {"interventions": list(self.settings), "birth": self._birth})
        now = self._situation
        state = {name: value.detach().clone() for name, value in now.state.items()}
        heads = {} if self._heads is None else {"heads": self._heads.optimizer.state_dict()}
        own = {"interventions": list(self.settings), "updates": now.updates, "tasks": now.tasks, "state": state}
        return {**own, "birth": self._birth, **heads}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues where `state_dict` was made.  Raises InputError for the state of another intervention."""
        if state["interventions"] != list(self.settings):
            raise InputError(f"The state is of {'+'.join(state['interventions'])}, and this is {self}.")
        self._loaded, self._birth = state, dict(state["birth"])
        if self._situation is not None:
            self._resume(self._situation)

    def __str__(self) -> str:
        return "+".join(self.settings)

    @property
    def _now(self) -> Situation:
        if self._situation is None:
            raise InputError(
                f"{self} does not know the module yet; run a forward pass with gradients first, or give "
                "Plastic(..., example=inputs)."
            )
        return self._situation

    @torch.no_grad()
    def _begin(self, trace: Trace) -> None:
        """Makes the situation from the first pass."""
        layout = layout_of(self.model, trace, set(self._trained))
        parameters = {id(value): name for name, value in self.model.named_parameters()}
        places = places_of(trace, layout, self._leave, parameters, parted=bool(self._resets))
        checks.check_layers(self.settings, layout)
        checks.check_leave(self._leave, self.model, places)
        if layout.parts and self.settings.keys() & names.OF_FEATURES:
            raise InputError(f"{self}: a layer joins features with other values; make a Plastic for each of them.")
        for name in self._resets:
            places.check(name)
        for each in _members(self.intervention):
            if isinstance(each, NormalizeAndProject):
                checks.check_norms(each, layout, places, [each for each in trace.calls if isinstance(each, str)])
        model = OutsideModel(self.model, layout, places, trace.overwritten, self._init, self._gain)
        model.birth = self._birth
        self._situation = Situation(self.intervention, model, self._trained, self._seed)
        if self._loaded is not None:
            self._resume(self._situation)
            return
        self._situation.begin(before_passes=self._by_example)
        self._train_heads(self._situation)

    def _train_heads(self, now: Situation) -> None:
        if self.intervention.learned:
            self._heads = Heads(now.state, self.intervention.learned, self._optimizers[0])

    def _resume(self, now: Situation) -> None:
        """Takes over the state that was loaded."""
        assert self._loaded is not None
        if "state" not in self._loaded:
            return
        now.state = {name: value.to(now.device, copy=True) for name, value in self._loaded["state"].items()}
        now.updates, now.tasks, now.model.birth = self._loaded["updates"], self._loaded["tasks"], self._birth
        self._train_heads(now)
        if self._heads is not None:
            self._heads.optimizer.load_state_dict(self._loaded["heads"])

    def _remember(self) -> None:
        """Keeps the network before the first optimizer's step of an update."""
        if self._situation is not None and not self._before:
            self._before = self._situation.network()

    def _watched(self, loss: Tensor | None, second: Any) -> dict[str, Any]:
        """The fields of `Now` for a penalty that watches outputs."""
        activations, given, model = self._passes.last(), self._passes.given, self._now.model
        if given is None:
            raise InputError(f"{self} reads inputs and outputs of the module; call the module itself, without watch().")
        if SECOND_BATCH in self.intervention.requires and (loss is None or second is None):
            raise InputError(f"{self} needs keep.penalty(loss=the loss of each example, second=other inputs).")
        other = None if second is None else Given(second if isinstance(second, tuple) else (second,), {})
        each = None if loss is None else loss.float().reshape(1, -1)
        return {
            "x": given,
            "outputs": named_outputs(self._passes.outputs),
            "hidden": model.hidden(activations),
            "forward": lambda parameters, x: model.forward(parameters, {}, x),
            "loss": each,
            "divergence": self._divergence,
            "second": other,
            "round": self._round,
        }


def _members(own: Intervention) -> list[Intervention]:
    return list(own.members.values()) if isinstance(own, Composed) else [own]


def _has_penalty(own: Intervention) -> bool:
    """Whether it, or one of several, has a term in the loss."""
    each = _members(own)
    return any(type(one).penalty is not Intervention.penalty and not getattr(one, "decoupled", False) for one in each)
