"""With the same weights, gradients, activations and draws an intervention changes a module as it changes the
laboratory's network, to the last bit.
"""

from typing import Any

import pytest
import torch
from torch.nn.functional import cross_entropy

from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.now import Now, noting
from plasticity_lab.outside import Plastic
from plasticity_lab.outside.plastic import names
from plasticity_lab.randomness.device import run_keys
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.twins import (
    CLASSES,
    SIDES,
    gradients_of,
    hidden_of,
    moments_of,
    parameters_of,
    same,
    stacked,
    tensor_of,
    twins,
)

SETTINGS: dict[str, dict[str, Any]] = {
    "c_chain": {"first": 2, "window": 3, "in_round": 2, "of_round": "mean"},
    "ccbp": {"every": 2, "strength": 0.5},
    "continual_backprop": {"strength": 0.3, "maturity": 1, "every": 2},
    "dash": {"batch": 4},
    "ewc": {"batch": 4},
    "fire": {"dense": "initial", "every": 3},
    "hare_tortoise": {"every": 3, "strength": 0.9, "shared": True},
    "infer": {"heads": 3},
    "l2_init": {"sorted": True, "power": 1},
    "nap": {"every": 2, "biases": "drop"},
    "parseval": {"decoupled": True, "normalised": True},
    "redo": {"every": 2, "strength": 0.8, "average": 2},
    "reset_layers": {"layers": "all", "values": "birth", "strength": 0.7, "every": 3},
    "selective_reinit": {"every": 2, "strength": 0.3},
    "shrink_and_perturb": {"every": 2},
    "snr": {"strength": 0.9, "min_age": 1, "min_count": 1, "epsilon": 0.3},
    "weight_clipping": {"strength": 0.5, "bound": "start"},
}
MORE = [
    ("fire", {}, "mlp"), ("parseval", {}, "mlp"), ("l2_init", {"include_activation": False}, "cnn"),
    ("reset_layers", {}, "cnn"), ("weight_clipping", {"strength": 0.3, "last_layer": False}, "cnn"),
    ("selective_reinit", {"every": 2, "utility": "magnitude", "pruning": "proportional", "strength": 0.1}, "cnn"),
    ("spectral", {}, "normed"), ("l2", {}, "normed"), ("feature_norm", {"sites": "all"}, "cnn"),
]  # fmt: skip
CASES = [
    (name, SETTINGS.get(name, {}), kind)
    for name in sorted(names.CLASSES.keys() - {"nap", *names.PRESETS})
    for kind in ("mlp", "cnn")
]
CASES += [("nap", SETTINGS["nap"], "normed"), ("redo", SETTINGS["redo"], "normed"), *MORE]


class Twin:
    """The laboratory's side: its model, its intervention, and a state that follows the module's steps."""

    def __init__(self, own: Intervention, module: Any, model: Any, optimizer: torch.optim.Optimizer) -> None:
        self.own, self.module, self.model, self.optimizer = own, module, model, optimizer
        self.settings, self.keys, self.updates = on_run_axis([own]), run_keys([0], "intervention"), 0
        self.state = own.start(self.now())

    def now(self, **more: Any) -> Now:
        parameters = parameters_of(self.module, self.model)
        given: dict[str, Any] = {"moments": moments_of(self.module, self.model, self.optimizer), "seeds": [0]}
        given |= {"keys": self.keys, "count": torch.tensor(self.updates), "updates": self.updates, **more}
        return Now(self.model, parameters, self.settings, getattr(self, "state", {}), **given)

    def after(self, method: str, now: Now) -> Now:
        with torch.no_grad():
            self.state = getattr(self.own, method)(now)
        return now._replace(state=self.state)


@pytest.mark.parametrize(("name", "settings", "kind"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_each_change_has_the_laboratorys_bits(name, settings, kind, monkeypatch):
    module, model = twins(kind)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    keep = Plastic(module, optimizer, name, example=torch.zeros(2, 1, SIDES[kind], SIDES[kind]), **settings)
    in_round = settings.get("in_round", 1)
    settings = {key: value for key, value in settings.items() if key != "in_round"}
    twin = Twin(names.made(name, settings), module, model, optimizer)
    own, fired = keep.intervention, False
    draw = torch.Generator().manual_seed(1)
    now_of = {}

    def with_the_gradients_of(method: str) -> None:
        """Lets the laboratory's method see the data that the module's was given beyond weights and gradients."""
        original = getattr(own, method)

        def called(now: Now) -> Any:
            now_of[method] = now
            return original(now)

        monkeypatch.setattr(own, method, called)

    for method in ("penalty", "after_step", "before_task", "after_task"):
        with_the_gradients_of(method)
    assert_same(keep, twin)
    for _ in range(6):
        x = torch.randn(8, 1, SIDES[kind], SIDES[kind], generator=draw)
        y = torch.randint(CLASSES, (8,), generator=draw)
        each = cross_entropy(module(x), y, reduction="none")
        optimizer.zero_grad()
        asked = {"loss": each, "second": x.flip(0)} if name == "c_chain" else {}
        term = keep.penalty(**asked)
        given = now_of.get("penalty", twin.now())
        leaves = {n: v.requires_grad_() for n, v in parameters_of(module, model).items()}
        watched = {"x": given.x, "outputs": given.outputs, "loss": given.loss, "divergence": given.divergence}
        watched |= {"hidden": given.hidden, "forward": given.forward, "second": given.second, "round": in_round}
        of_lab = noting(twin.own.penalty(twin.now()._replace(parameters=leaves, **watched)))
        assert torch.equal(of_lab.total.sum(), term)
        if term.requires_grad and not own.watches_outputs:
            assert_same_slopes(of_lab.total.sum(), leaves, term, module)
        (each.mean() + term).backward()
        before = parameters_of(module, model)
        optimizer.step()
        for tensor in module.parameters():  # moments that show what is reset
            optimizer.state[tensor]["exp_avg"].add_(1)
        after = parameters_of(module, model)
        step = {n: value - before[n] for n, value in after.items()}
        noted = {n: value.detach() for n, value in of_lab.noted.items()}
        more = {
            "round": in_round,
            "step": step,
            "before": before,
            "noted": noted,
            "optimizer": {"lr": torch.tensor([0.05]).double()},
        }
        now = twin.now(gradients=gradients_of(module, model), hidden=hidden_of(module), **more)
        heads = own.learned and keep._heads
        keep.step()
        if heads:
            twin.state = {**twin.state, **{n: keep._now.state[n].detach() for n in own.learned}}
        now = twin.after("after_step", now._replace(state=twin.state))
        twin.updates += 1
        if own.every is not None and twin.updates % own.every == 0:
            now = twin.after("every_n_updates", now._replace(updates=twin.updates))
        fired |= any(not torch.equal(value, now.parameters[n]) for n, value in after.items())
        assert_same(keep, twin, now)
    now = twin.now(task=0)
    keep.task_ended(examples=(x, y), coming=(x, y))
    between = {n: getattr(now_of["after_task"], n) for n in ("examples", "log_likelihood")}
    if name == "ewc":  # the module's forward pass, as its outputs differ in the last bits
        now = now._replace(model=keep._now.model)
    now = twin.after("after_task", now._replace(**between))._replace(model=model, task=1)
    now = twin.after("before_task", now._replace(coming=now_of["before_task"].coming))
    fired |= any(not torch.equal(value, now.parameters[n]) for n, value in twin_before(after, now).items())
    assert_same(keep, twin, now)
    assert fired == own.changes_parameters()


def twin_before(after, now):
    """The parameters of the last step, by the names of the last situation."""
    return {name: after[name] for name in now.parameters}


def assert_same(keep: Plastic, twin: Twin, now: Now | None = None) -> None:
    """The same state, parameters and moments."""
    same(twin.state, {name: value.detach() for name, value in keep._now.state.items()})
    if now is not None:
        same(dict(now.parameters), parameters_of(twin.module, twin.model))
        for kind, moments in moments_of(twin.module, twin.model, twin.optimizer).items():
            same(dict(now.moments[kind]), moments)


def assert_same_slopes(total, leaves, term, module) -> None:
    """The same derivatives by the parameters."""
    slopes = torch.autograd.grad(total, list(leaves.values()), allow_unused=True, materialize_grads=True)
    for (name, like), slope in zip(leaves.items(), slopes, strict=True):
        (own,) = torch.autograd.grad(
            term, tensor_of(module, name), retain_graph=True, allow_unused=True, materialize_grads=True
        )
        assert torch.equal(stacked(own, like), slope), name
