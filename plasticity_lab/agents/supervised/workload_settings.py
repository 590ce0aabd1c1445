"""The networks, activations and interventions that are measured: names and shapes, which need no torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ACTIVATIONS = {
    "relu": "relu.ReLU",
    "leaky_relu": "leaky_relu.LeakyReLU",
    "rrelu": "rrelu.RReLU",
    "prelu": "prelu.PReLU",
    "sigmoid": "sigmoid.Sigmoid",
    "tanh": "tanh.Tanh",
    "swish": "swish.Swish",
    "gelu": "gelu.GELU",
    "elu": "elu.ELU",
    "celu": "celu.CELU",
}
"""Those that the usual script and JAX have too, at settings at which all three are one function."""

INTERVENTIONS = {
    "none": "none.NoIntervention",
    "l2_init": "l2_init.L2Init",
    "l2": "l2.L2",
    "spectral": "spectral.Spectral",
    "ewc": "ewc.EWC",
    "shrink_and_perturb": "shrink_and_perturb.ShrinkAndPerturb",
    "snr": "snr.SelfNormalizedResets",
    "continual_backprop": "continual_backprop.ContinualBackprop",
    "redo": "redo.ReDo",
    "selective_reinit": "selective_reinit.SelectiveReinit",
}
"""All but those that do nothing while a task is learned. Each has its class's own settings, but `every` of RARE."""

RARE = ("shrink_and_perturb", "redo", "selective_reinit")
"""What works now and then; where it is measured, once in a burst, which is more often than by default."""


@dataclass(frozen=True)
class Setting:
    """What a network is measured on: its benchmark's images, classes and batches, and how wide packs are by default.

    brightness: the mean of made-up pictures, out of 255, before all below 0 becomes black. steps: of one burst. widths:
    by kind of device; the CNN's are small on CPU, where compiling takes longer with each.
    """

    target: str
    image: tuple[int, int, int]
    classes: int
    batch_size: int
    brightness: int
    steps: int
    widths: Mapping[str, Sequence[int]]


MLP_WIDTHS = {"cpu": (1, 2, 4, 8, 16), "cuda": (16, 64, 256, 512)}
CNN_WIDTHS = {"cpu": (1, 2, 4), "cuda": (4, 16, 64)}
SETTINGS = {
    "mlp": Setting("plasticity_lab.networks.mlp.MLP", (1, 28, 28), 10, 16, -126, 500, MLP_WIDTHS),
    "cnn": Setting("plasticity_lab.networks.cnn.CNN", (3, 32, 32), 100, 32, -20, 50, CNN_WIDTHS),
}
"""The MLP as Permuted MNIST has it, of whose pixels four in five are black; the CNN as 5+1 CIFAR. A burst is a whole
chunk, or some tenths of a second."""
