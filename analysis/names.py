"""Display names, as the paper prints them; the names of data sets in captions; and the metrics of summaries."""

from collections.abc import Iterable

from plasticity_lab.records.measures import Declared, Measure
from plasticity_lab.records.task_matrix import READ_OFF

ACTIVATIONS = {
    "relu": "ReLU",
    "leaky_relu": "Leaky-ReLU",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "rrelu": "RReLU",
    "prelu": "PReLU",
    "swish": "Swish (SiLU)",
    "gelu": "GeLU",
    "celu": "CeLU",
    "elu": "eLU",
    "selu": "SeLU",
    "crelu": "CReLU",
    "rational": "Rational",
    "swiglu": "SwiGLU",
    "deep_fourier": "Deep Fourier",
    "smooth_leaky": "Smooth-Leaky",
    "rand_smooth_leaky": "Rand. Smooth-Leaky",
    "bo_prelu": "Bo-PReLU",
    "rselu": "R-SeLU",
}

BENCHMARKS = {
    "permuted_mnist": "Permuted MNIST",
    "random_label_mnist": "Random Label MNIST",
    "random_label_cifar": "Random Label CIFAR",
    "cifar51": "CIFAR 5+1",
    "continual_imagenet": "Continual ImageNet",
    "split_cifar100": "Split-CIFAR-100",
    "split_cifar100_joint": "Split-CIFAR-100, i.i.d.",
    "split_digits": "Split digits",
    "split_digits_joint": "Split digits, i.i.d.",
    "permuted_mnist_20": "Permuted MNIST, 20 tasks",
    "permuted_digits": "Permuted digits",
    "permuted_digits_20": "Permuted digits, 20 tasks",
    "random_label_digits": "Random Label digits",
    "digits51": "Digits 5+1",
    "continual_digits": "Continual digits",
    "mujoco_cycle": "MuJoCo cycle",
}

INTERVENTIONS = {
    "none": "Vanilla",
    "l2_init": "+L2-Init",
    "snr": "+SNR",
    "ewc": "+EWC",
    "fresh_each_task": "Fresh each task",
    "l2": "+L2",
    "shrink_and_perturb": "+Shrink and perturb",
    "continual_backprop": "+Continual backprop",
    "redo": "+ReDo",
    "selective_reinit": "+Selective reinit.",
    "spectral": "+Spectral",
}

DATA = {
    "digits": "scikit-learn digits, embedded: not the paper's data",
    "mnist": "real MNIST",
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "imagenet32": "ImageNet, 32×32",
}


BODIES = {
    "halfcheetah": "HalfCheetah-v5",
    "humanoid": "Humanoid-v5",
    "ant": "Ant-v5",
    "hopper": "Hopper-v5",
}

NAMES = {"activation": ACTIVATIONS, "benchmark": BENCHMARKS, "intervention": INTERVENTIONS}
"""Group of choices → the display names of its options, for the groups that have some."""


def display(names: dict[str, str], name: str) -> str:
    """The display name; the name itself for an option from outside this repository."""
    return names.get(name, name)


def metric(name: str, declared: Iterable[Declared]) -> Measure:
    """The metric of that name (title, unit, better direction), from the first declaration that has it.

    A summary value without a description is shown as stored, and no table marks its best value.
    """
    described = (each.summaries[name] for each in declared if name in each.summaries)
    return next(described, None) or READ_OFF.get(name) or Measure(name, name, "as stored")
