"""The one equation for compiled code and our kernels, where shapes are odd: a few rows, classes and units a run.

Whether a compiler takes vectors for a loop, and what is left over of them, depends on shapes, and so on the number of
runs: what is computed must be the same bits in vectors of any width and in none. Each mix was chosen to meet a function
(of an activation, the loss, a norm, an optimizer, an intervention) that is not rounded in one way only.
"""

from typing import NamedTuple

import numpy as np
import pytest

from tests.helpers.packs import choice, differing, images, needs_compiler, needs_kernels, run, trained
from tests.helpers.vectors import BITS, vectors


class Mix(NamedTuple):
    """What a run is made of.

    batch: rows; classes: logits of a row; width: units of its one hidden layer; replayed: how many further
    rows come from a memory, of two tasks that have half of the classes each.
    """

    activation: str
    own: dict
    batch: int
    classes: int
    width: int
    norm: str = "none"
    optimizer: str = "adam"
    intervention: str = "none"
    replayed: int = 0

    def __str__(self) -> str:
        words = [self.activation, *self.own.values(), f"{self.batch}x{self.classes}", self.width, *self[5:8]]
        return " ".join(str(word) for word in words if word != "none") + (" replay" if self.replayed else "")

    def run(self, seed: int, lr: float):
        target, settings = choice("intervention", self.intervention)
        return run(
            seed,
            self.activation,
            self.own,
            network={"width": self.width, "depth": 1, "norm": self.norm},
            optimizer={"name": self.optimizer, "lr": lr},
            intervention=(target, settings),
            batch_size=self.batch,
            tasks=2,
            **self.shown(),
        )

    def shown(self) -> dict:
        """The settings of agent and benchmark that say what is learned from."""
        if not self.replayed:
            return {"images": 3 * self.batch - 1}
        target, _ = choice("agent", "experience_replay")
        settings = {"memory": 3 * self.replayed, "per_task": 2 * self.replayed, "replayed": self.replayed}
        groups = {"classes_per_task": self.classes // 2, "images_per_class": self.batch, "normalise": "raw"}
        return groups | {"benchmark": "split_digits", "agent": ("experience_replay", target, settings)}

    def trained(self, runs: int, **how) -> dict[str, np.ndarray]:
        """Our run as the last of a pack; its mates have other seeds and learning rates."""
        mates = [self.run(50 + k, 10.0 ** -(2 + k % 2)) for k in range(runs - 1)]
        several = 30 * self.classes  # every class is among them
        shown = images(5, *((several, several) if self.replayed else (3 * self.batch - 1, 20)), classes=self.classes)
        return trained([*mates, self.run(1, 0.01)], shown, compiled=True, **how).of(runs - 1)


MIXES = [
    Mix("bo_prelu", {"scope": "neuron"}, 4, 5, 7),
    Mix("prelu", {"scope": "layer"}, 3, 6, 5, optimizer="sgd", intervention="l2_init"),
    Mix("gelu", {}, 2, 3, 11, "layer"),
    Mix("bo_prelu", {}, 4, 7, 13, optimizer="rmsprop"),
    Mix("bo_prelu", {"scope": "layer"}, 1, 13, 6, optimizer="adamw"),
    Mix("prelu", {"scope": "neuron"}, 7, 2, 9, "layer", "sgd"),
    Mix("prelu", {}, 5, 3, 17, intervention="shrink_and_perturb"),
    Mix("tanh", {}, 1, 2, 9, optimizer="adamw", intervention="snr"),
    Mix("tanh", {}, 6, 10, 3, "layer", intervention="selective_reinit"),
    Mix("gelu", {"form": "gate"}, 4, 6, 5, optimizer="sgd"),
    Mix("deep_fourier", {}, 5, 13, 10, intervention="l2"),
    Mix("elu", {}, 6, 4, 6, "layer", "sgd", "ewc"),
    Mix("celu", {}, 5, 2, 3, "layer", "adamw"),
    Mix("selu", {}, 3, 8, 11, optimizer="rmsprop"),
    Mix("swiglu", {}, 7, 9, 8, intervention="spectral"),
    Mix("swish", {}, 2, 7, 15, "layer", intervention="redo"),
    Mix("sigmoid", {}, 3, 5, 17, intervention="continual_backprop"),
    Mix("rational", {}, 4, 11, 5, optimizer="rmsprop", intervention="redo"),
    Mix("smooth_leaky", {}, 7, 6, 7, intervention="shrink_and_perturb"),
    Mix("rand_smooth_leaky", {}, 1, 4, 12, "layer", "adamw"),
    Mix("rrelu", {}, 6, 12, 1, optimizer="sgd"),
    Mix("rselu", {}, 2, 5, 21, intervention="l2_init"),
    Mix("crelu", {}, 4, 3, 10, "layer", intervention="spectral"),
    Mix("leaky_relu", {}, 3, 13, 19, optimizer="rmsprop", intervention="ewc"),
    Mix("relu", {}, 5, 7, 2, intervention="fresh_each_task"),
    Mix("bo_prelu", {"scope": "neuron"}, 3, 6, 7, "layer", replayed=2),
    Mix("prelu", {"scope": "layer"}, 2, 10, 9, optimizer="adamw", intervention="snr", replayed=3),
    Mix("tanh", {}, 5, 4, 13, optimizer="rmsprop", intervention="shrink_and_perturb", replayed=1),
]


def hold(mix: Mix, widths: tuple[int, ...], stops: tuple[int, ...] = (), **how) -> None:
    """stops: looks at which the packs are stopped and resumed."""
    alone = mix.trained(1, **how)
    assert np.isfinite(alone["loss"]).all()
    for runs in widths:
        assert not differing(alone, mix.trained(runs, stops=stops, **how)), f"{runs} runs"


@pytest.mark.only(3)
@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("mix", MIXES, ids=str)
def test_compiled_so_is_every_mix_in_packs_of_many_widths_and_resumed(mix, bits):
    with vectors(bits):
        hold(mix, (2, 3, 5, 7, 8))
        hold(mix, (4, 6), stops=(1, 1))


@pytest.mark.slow
@needs_kernels
@pytest.mark.parametrize("mix", [mix for mix in MIXES if not mix.replayed], ids=str)
def test_by_our_kernels_so_is_every_mix(mix):
    hold(mix, (2, 6, 7), kernels=True)
