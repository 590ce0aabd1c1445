"""The laboratory's optimizers as torch.optim.Optimizer: `optimizer("muon", model, lr=0.02)`."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from plasticity_lab.component import build, real_settings
from plasticity_lab.errors import ConfigError
from plasticity_lab.outside.plastic.pieces import Copies, Piece
from plasticity_lab.randomness.device import run_keys
from plasticity_lab.stacking.optimizer import Optimizer
from plasticity_lab.stacking.run_axis import aligned, on_run_axis
from plasticity_lab.stacking.update_rule import RuleInputs, UpdateRule

CLASSES = {
    "adam": "adam.Adam",
    "adamw": "adamw.AdamW",
    "adaupgd": "adaupgd.AdaUPGD",
    "kron": "kron.Kron",
    "muon": "muon.Muon",
    "rmsprop": "rmsprop.RMSprop",
    "sgd": "sgd.SGD",
    "trac_adam": "trac_adam.TRACAdam",
    "trac_adamw": "trac_adamw.TRACAdamW",
    "trac_sgd": "trac_sgd.TRACSGD",
    "upgd": "upgd.UPGD",
}
"""Name → its class in `plasticity_lab.stacking`."""
OF_TASKS = {"reset", "schedule", "schedule_by", "warmup", "final"}
"""Settings that belong to the laboratory's tasks."""
Parameters = nn.Module | Iterable[Any]


class OurOptimizer(torch.optim.Optimizer):
    """An optimizer of the laboratory. Its numbers are settings of the groups, as `lr`, so that schedulers change them.

    Parameters are copied into the laboratory's layout for a step, and back. hidden: names of hidden matrices.
    """

    def __init__(self, name: str, target: str, given: Any, settings: Mapping[str, Any], hidden: Any, seed: int) -> None:
        self.name, self._target, self._settings = name, target, dict(settings)
        own = self._built({})
        self._hidden, self._seed = hidden, seed
        numbers = {key: getattr(own, key) for key in real_settings(type(own)) if key not in OF_TASKS}
        super().__init__(given, {**numbers, "updates": 0})
        self._rule: dict[str, dict[str, Tensor]] = {}
        if isinstance(own, UpdateRule) and len(self.param_groups) > 1:
            raise ConfigError(f"optimizer={name} treats all parameters together; give it one group of parameters.")

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step.  closure: computes the loss again, as for other optimizers."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        pieces = self._pieces()
        for group in self.param_groups:
            own = self._built({key: value for key, value in group.items() if key in self.defaults and key != "updates"})
            present = {name: piece for name, piece in pieces.items() if any(piece.value is p for p in group["params"])}
            if isinstance(own, UpdateRule):
                self._by_rule(own, group, present)
            else:
                self._by_parameter(own, present)
            group["updates"] += 1
        return loss

    def __getstate__(self) -> dict[str, Any]:
        """All attributes, for copies: torch's own are not enough."""
        own = ("name", "_target", "_settings", "_hidden", "_seed", "_rule")
        return {**super().__getstate__(), **{key: getattr(self, key) for key in own}}

    def state_dict(self) -> dict[str, Any]:
        """The state, also of a rule that treats all parameters together."""
        rule = {kind: {key: value.clone() for key, value in of.items()} for kind, of in self._rule.items()}
        return {**super().state_dict(), "rule": rule}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Continues where `state_dict` was made."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "rule"})
        device = self.param_groups[0]["params"][0].device
        self._rule = {
            kind: {key: value.to(device, copy=True) for key, value in of.items()}
            for kind, of in state_dict["rule"].items()
        }

    def _built(self, numbers: Mapping[str, Any]) -> Optimizer:
        values = {key: float(value) if isinstance(value, Tensor) else value for key, value in numbers.items()}
        own = build("optimizer", self.name, self._target, {**self._settings, **values})
        assert isinstance(own, Optimizer)
        return own

    def _by_parameter(self, own: Optimizer, pieces: Mapping[str, Piece]) -> None:
        """The step of an optimizer that treats each parameter alone: parameters with the same step count together."""
        counts: dict[int, dict[str, Piece]] = {}
        for name, piece in pieces.items():
            if piece.value.grad is not None:
                counts.setdefault(self._counted(own, piece.value), {})[name] = piece
        for count, same in counts.items():
            stacks, gradients, moments = self._stacks(own, same)
            settings = on_run_axis([own], next(iter(same.values())).value.device, torch.float64)
            now = {key: rows[0] for key, rows in own.corrections(settings, count, 1).items()}
            own.update(dict(stacks), dict(gradients), {kind: dict(of) for kind, of in moments.items()}, settings, now)
            for each in (stacks, *moments.values()):
                each.write(all_read=True)

    def _by_rule(self, own: UpdateRule, group: Mapping[str, Any], pieces: Mapping[str, Piece]) -> None:
        """The step of a rule that treats all parameters together; one without a gradient has the gradient 0."""
        counts = {name: self._counted(own, piece.value) for name, piece in pieces.items()}
        stacks, gradients, moments = self._stacks(own, pieces)
        device = next(iter(pieces.values())).value.device
        settings = on_run_axis([own], device, torch.float64)
        self._rule = self._rule or own.start_state(dict(stacks))
        rows = {count: own.corrections(settings, count, 1) for count in set(counts.values())}

        def correction(key: str, name: str) -> Tensor:
            stack = stacks[name]
            return rows[counts[name]][key][0].view(-1, *[1] * (stack.dim() - 1))

        def plain_step(base: Optimizer) -> None:
            for count in sorted(rows):
                names = [name for name in stacks if counts[name] == count]
                own_moments = {kind: {name: of[name] for name in names} for kind, of in moments.items()}
                now = {key: row[0] for key, row in rows[count].items()}
                base.update({n: stacks[n] for n in names}, {n: gradients[n] for n in names}, own_moments, settings, now)

        real = {name: len(piece.value) for name, piece in pieces.items() if piece.padded > len(piece.value)}
        keys, count = run_keys([self._seed], "optimizer", device), torch.tensor(group["updates"], device=device)
        own.step(
            RuleInputs(stacks, gradients, moments, self._rule, settings, correction, real, (), plain_step,
                       keys if own.draws else None, count, self._hidden_layers(pieces))
        )  # fmt: skip
        for each in (stacks, *moments.values()):
            each.write(all_read=True)

    def _hidden_layers(self, pieces: Mapping[str, Piece]) -> list[str]:
        """The layers with hidden matrices: as given, or all with matrices but the first and the last."""
        if self._hidden is not None:
            return [name.removesuffix(".weight") for name in self._hidden]
        return [name.removesuffix(".weight") for name, piece in pieces.items() if piece.kind == "matrix"][1:-1]

    def _counted(self, own: Optimizer, value: Tensor) -> int:
        """The number of this step of a parameter, from 1; its moments begin with the first."""
        state = self.state[value]
        if not state:
            state["step"] = torch.tensor(0.0)
            state |= {kind: torch.zeros_like(value) for kind in own.moments}
        state["step"] += 1
        return int(state["step"])

    def _stacks(self, own: Optimizer, pieces: Mapping[str, Piece]) -> tuple[Copies, Copies, dict[str, Copies]]:
        """Parameters, gradients and moments in the laboratory's layout."""
        moments = {kind: Copies(pieces, lambda value, kind=kind: self.state[value][kind]) for kind in own.moments}
        return Copies(pieces, lambda value: value), Copies(pieces, lambda value: value.grad), moments

    def _pieces(self) -> dict[str, Piece]:
        """The parameters by name; unnamed ones are called by their number."""
        named: dict[str, Tensor] = {}
        for group in self.param_groups:
            names = group.get("param_names") or [
                f"{len(named) + at}.{'weight' if value.dim() > 1 else 'bias'}"
                for at, value in enumerate(group["params"])
            ]
            named |= dict(zip(names, group["params"], strict=True))
        found: dict[str, Piece] = {}
        for name, value in named.items():
            if value.dim() > 1 and name.rpartition(".")[2] == "weight":
                inputs = value[0].numel()
                found[name] = Piece(value, "matrix", padded=_padded(inputs, len(value)))
        for name, value in named.items():
            weight = found.get(f"{name.rpartition('.')[0]}.weight")
            alike = weight is not None and name.endswith(".bias") and value.shape == weight.value.shape[:1]
            if name not in found:
                found[name] = Piece(value, "vector", padded=weight.padded if alike and weight is not None else 0)
        return {name: found[name] for name in named}


def _padded(inputs: int, outputs: int) -> int:
    return outputs if inputs * outputs % 4 == 0 else aligned(outputs)


def optimizer(
    name: str, params: Parameters, *, hidden: Collection[str] | None = None, seed: int = 0, **settings: Any
) -> OurOptimizer:
    """The laboratory's optimizer of that name.  settings: as in conf/optimizer.

    params: a module, its named parameters, parameters, or groups of them. hidden: names of the weights that `muon`
    treats as hidden matrices; by default all but the first and the last. seed: for random numbers.
    Raises ConfigError for an unknown name or setting.
    """
    if name not in CLASSES:
        raise ConfigError(f"There is no optimizer '{name}'; choose one of {', '.join(CLASSES)}.")
    target = f"plasticity_lab.stacking.{CLASSES[name]}"
    for key in OF_TASKS & settings.keys():
        raise ConfigError(f"optimizer.{key} follows the laboratory's tasks; use a scheduler of torch.optim instead.")
    given = params.named_parameters() if isinstance(params, nn.Module) else params
    return OurOptimizer(name, target, given, settings, hidden, seed)
