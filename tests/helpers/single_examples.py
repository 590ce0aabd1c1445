"""Every network beside every head, and the gradients of its examples one by one: what is too slow for a pack.

Legend: K runs, B examples, * the shape of a parameter of one run.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from time import time_ns
from typing import Any

import numpy as np
import torch
from torch import Tensor

from plasticity_lab.component import build
from plasticity_lab.diagnostics.view import View
from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.encoder import headed
from plasticity_lab.networks.model import Model
from plasticity_lab.networks.network import Noise, Shapes
from plasticity_lab.networks.tokenization import KINDS
from plasticity_lab.randomness.host import host_stream
from plasticity_lab.stacking.run_axis import on_run_axis
from tests.helpers.packs import CPU, choice

RUNS, EXAMPLES = 2, 4
IMAGE = (2, 12, 12)
LOGITS = {"logits": 3}
NETWORKS: Mapping[str, tuple[dict[str, Any], Shapes]] = {
    "mlp": ({"width": 6}, Shapes((7,), LOGITS)),
    "actor_critic": ({"width": 6}, Shapes((7,), {"policy": 2, "value": 1}, {"log_std": 2})),
    "cnn": ({"channels": 4, "kernel": 3, "width": 6}, Shapes(IMAGE, LOGITS)),
    "cnn_case_study": ({"channels": 4, "width": 6}, Shapes(IMAGE, LOGITS)),
    "nature": ({"hidden": 6}, Shapes(IMAGE, LOGITS)),
    "small_nature": ({"hidden": 6}, Shapes(IMAGE, {"value": 2, "advantage": 6})),
    "impala": ({"hidden": 6}, Shapes(IMAGE, LOGITS)),
    "small_impala": ({"hidden": 6}, Shapes(IMAGE, LOGITS)),
    "resnet18": ({"width": 2}, Shapes(IMAGE, LOGITS)),
    "vit": ({"width": 6, "depth": 2, "heads": 2}, Shapes(IMAGE, LOGITS)),
    "pixel_actor_critic": (
        {"channels": 4, "projection": 5, "hidden": 6},
        Shapes(IMAGE, {"q1": 1, "q2": 1, "mean": 2, "log_std": 2}, beside=2),
    ),
}
"""Each choice of conf/network with small widths, and what it is given and answers."""
HEADS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "flatten": ("flatten", {}),
    "average": ("average", {}),
    "tokenised": ("tokenised", {}),
    "mean of tokens": ("tokenised", {"pooled": "mean", "scale": 1.5}),
    "softmoe": ("softmoe", {"experts": 2}),
    "normalised router": ("softmoe", {"experts": 3, "slots": 2, "normalised": True}),
    "further layer": ("softmoe", {"experts": 2, "further_layer": True}),
    "expert_choice": ("expert_choice", {"experts": 2}),
    "token_choice": ("token_choice", {"experts": 2, "capacity": 0.5, "importance_loss": 0.1}),
}
"""Each choice of conf/head, and those of its settings that change which layers there are."""
NORMS = ("none", "layer", "rms")
NOISES = (None, Noise(0.3))
ACTIVATIONS = ("relu", "leaky_relu", "prelu", "crelu", "swiglu")


@dataclass(frozen=True)
class Case:
    """A network as words of a command choose it."""

    network: str
    head: str
    tokens: str = "per_conv"
    norm: str = "none"
    noise: Noise | None = None
    activation: str = "prelu"

    @property
    def precision(self) -> torch.dtype:
        """float64, except where a head's routing has float32 alone."""
        return torch.float32 if self.head in ("expert_choice", "token_choice") else torch.float64

    def model(self) -> tuple[Model, Mapping[str, Tensor]]:
        """The pack's network and its activation's settings.  Raises ConfigError for what does not fit together."""
        small, shapes = NETWORKS[self.network]
        target, usual = choice("network", self.network)
        tokens = {"tokens": self.tokens} if "tokens" in usual else {}
        if self.tokens != "per_conv" and not tokens:
            raise ConfigError("This network has no tokens.")
        network = build("network", self.network, target, {**usual, **small, **tokens, "norm": self.norm})
        name, settings = HEADS[self.head]
        target, usual = choice("head", name)
        network = headed(network, build("head", name, target, {**usual, **settings}))
        activation = build("activation", self.activation, *choice("activation", self.activation))
        shapes = Shapes(shapes.inputs, shapes.outputs, shapes.constants, self.noise, shapes.beside)
        made = Model(network, [activation] * RUNS, {"only": shapes})
        return made, on_run_axis([activation] * RUNS, dtype=self.precision)


def valid(case: Case) -> bool:
    """Whether its choices fit together."""
    try:
        case.model()
    except ConfigError:
        return False
    return True


def every_case() -> list[Case]:
    """All combinations, and every kind of tokens; not all of them fit together (see `valid`)."""
    return [
        *(
            Case(network, head, "per_conv", norm, noise, activation)
            for network, head, norm, noise, activation in product(NETWORKS, HEADS, NORMS, NOISES, ACTIVATIONS)
        ),
        *(Case(network, head, tokens) for network, head, tokens in product(NETWORKS, HEADS, KINDS[1:])),
    ]


def drawn(count: int) -> list[Case]:
    """Some that fit together, others each time; SEED in the environment draws those of an earlier time again."""
    seed, cases = int(os.environ.get("SEED") or time_ns() % 2**32), every_case()
    print(f"drawn with SEED={seed}")
    order = host_stream(seed, "cases").permutation(len(cases))
    return list(islice((cases[at] for at in order if valid(cases[at])), count))


def told(outputs: Mapping[str, Tensor], answers: Tensor) -> Tensor:
    """A number for each example, (K, B), which depends on all of its outputs.  answers (K, B): factors."""
    total = torch.zeros_like(answers)
    for name in sorted(outputs):
        value = torch.atan(outputs[name])  # its derivative has its digits at large values too
        total = total + (value * torch.arange(1, value.shape[2] + 1, dtype=value.dtype)).sum(dim=2)
    return total * answers


def begun(case: Case) -> View:
    """The network as it starts, and a probe of examples whose losses are `told`: biases are no zeros."""
    model, shape = case.model()
    noise = np.random.Generator(np.random.Philox(1))
    parameters = {
        name: value.to(case.precision) + 0.5 * torch.from_numpy(noise.normal(size=value.shape)).to(case.precision)
        if name.endswith((".bias", ".shift", ".slope", ".scalar"))
        else value.to(case.precision)
        for name, value in model.start(range(RUNS), CPU).items()
    }
    given = prod(NETWORKS[case.network][1].inputs) + NETWORKS[case.network][1].beside
    draw = host_stream(0, "examples")
    probe = {
        "x": torch.from_numpy(draw.normal(size=(RUNS, EXAMPLES, given))).to(case.precision),
        "answers": torch.from_numpy(draw.uniform(0.5, 1.5, (RUNS, EXAMPLES))).to(case.precision),
    }

    def losses(parameters: Mapping[str, Tensor], batch: Mapping[str, Tensor]) -> Tensor:
        return told(model.forward(parameters, shape, batch["x"], None)[0], batch["answers"])

    return View(model, parameters, {"activation": shape}, range(RUNS), losses, probe)


def each_alone(view: View) -> dict[str, Tensor]:
    """The gradient of `told` by each example of each run alone, by parameter, (K, B, *): a backward pass for each."""
    shape, x, answers = view.settings["activation"], view.probe["x"], view.probe["answers"]
    found: dict[str, list[list[Tensor]]] = {name: [] for name in view.parameters}
    for run in range(len(x)):
        own = {name: value[run : run + 1] for name, value in shape.items()}
        alone = {name: value[run : run + 1].clone().requires_grad_() for name, value in view.parameters.items()}
        rows: list[tuple[Tensor, ...]] = []
        for at in range(x.shape[1]):
            outputs, _ = view.model.forward(alone, own, x[run : run + 1, at : at + 1], None)
            outputs = {name: outputs[name] for name in outputs if name not in view.model.design.losses}
            total = told(outputs, answers[run : run + 1, at : at + 1]).sum()
            rows.append(torch.autograd.grad(total, list(alone.values()), allow_unused=True, materialize_grads=True))
        for name, gradients in zip(alone, zip(*rows, strict=True), strict=True):
            found[name].append([gradient[0] for gradient in gradients])
    return {name: torch.stack([torch.stack(own) for own in each]) for name, each in found.items()}
