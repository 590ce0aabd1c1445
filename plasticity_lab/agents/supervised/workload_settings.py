"""The networks, activations and interventions of the timed workloads: names and shapes, which need no torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
"""Activations that the plain PyTorch script and JAX have too, with settings that make all three the same function."""

INTERVENTIONS = {
    "none": "none.NoIntervention",
    "l2_init": "l2_init.L2Init",
    "l2": "l2.L2",
    "spectral": "spectral.Spectral",
    "parseval": "parseval.Parseval",
    "feature_norm": "feature_norm.FeatureNorm",
    "logit_norm": "logit_norm.LogitNorm",
    "self_distillation": "self_distillation.SelfDistillation",
    "infer": "infer.InFeR",
    "c_chain": "c_chain.CChain",
    "ewc": "ewc.EWC",
    "shrink_and_perturb": "shrink_and_perturb.ShrinkAndPerturb",
    "fire": "fire.FIRE",
    "reset_layers": "reset_layers.ResetLayers",
    "hare_tortoise": "hare_tortoise.HareTortoise",
    "weight_clipping": "weight_clipping.WeightClipping",
    "nap": "nap.NormalizeAndProject",
    "snr": "snr.SelfNormalizedResets",
    "continual_backprop": "continual_backprop.ContinualBackprop",
    "ccbp": "ccbp.ContinuousContinualBackprop",
    "redo": "redo.ReDo",
    "selective_reinit": "selective_reinit.SelectiveReinit",
}
"""All interventions that act while a task is learned. Each has its class's default settings, except for `every` of
RARE.
"""

RARE = ("shrink_and_perturb", "fire", "reset_layers", "hare_tortoise", "ccbp", "redo", "selective_reinit")
"""Interventions that act at intervals. They are timed once per burst, which is more often than by default."""


@dataclass(frozen=True)
class Setting:
    """The timing setting of a network: its target, its benchmark's images, classes and batches, and default pack
    widths.

    brightness: the mean of made-up pictures, out of 255, before values below 0 become black.
    steps: steps of one burst.
    widths: by kind of device. The CNN's widths are small on CPU, because each takes longer to compile.
    yardstick: the name in plans.
    options: settings of the network that differ from its defaults.
    """

    target: str
    image: tuple[int, int, int]
    classes: int
    batch_size: int
    brightness: int
    steps: int
    widths: Mapping[str, Sequence[int]]
    yardstick: str
    options: Mapping[str, Any] = field(default_factory=dict)


MLP_WIDTHS = {"cpu": (1, 2, 4, 8, 16), "cuda": (16, 64, 256, 512)}
CNN_WIDTHS = {"cpu": (1, 2, 4), "cuda": (4, 16, 64)}
SETTINGS = {
    "mlp": Setting("plasticity_lab.networks.mlp.MLP", (1, 28, 28), 10, 16, -126, 500, MLP_WIDTHS, "dense"),
    "cnn": Setting("plasticity_lab.networks.cnn.CNN", (3, 32, 32), 100, 32, -20, 50, CNN_WIDTHS, "convolving"),
    "vit": Setting(
        *("plasticity_lab.networks.vit.ViT", (3, 32, 32), 100, 32, -20, 5, CNN_WIDTHS, "convolving"),
        options={"width": 64, "depth": 4, "heads": 4},
    ),
    "resnet18": Setting(
        *("plasticity_lab.networks.resnet18.ResNet18", (3, 32, 32), 100, 32, -20, 5, CNN_WIDTHS, "convolving"),
        options={"width": 16, "norm": "batch"},
    ),
}
"""The MLP as in Permuted MNIST (four in five pixels are black); the CNN as in 5+1 CIFAR; a small vision transformer
with 65 tokens and a narrow ResNet-18 on the same images. A burst is a whole chunk, or some tenths of a second.
"""
USUAL = ("mlp", "cnn")
"""The networks that the bench measures by default, and JAX has too."""
