"""The measures of a pack's speed: the script people write today, and the limits of the machine.

The script trains one run, eager, with nn.Module and torch.optim.Adam, in a Python loop over steps. It is fast for its
kind. It has no DataLoader: batches are gathered from a tensor of floats on the device. The loop reads nothing back from
the device. The limits are operations and memory bandwidth, and the time of a run-step at these rates.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from launch.bench.plain_resnet18 import PlainResNet18
from launch.bench.plain_vit import PlainViT
from plasticity_lab.agents.supervised.workload import L2_INIT, LEARNING_RATE, WHITE, Data, Workload
from plasticity_lab.agents.supervised.workload_settings import SETTINGS

MODULES = {
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "rrelu": lambda: nn.RReLU(0.125, 0.333),
    "prelu": nn.PReLU,
    "sigmoid": nn.Sigmoid,
    "tanh": nn.Tanh,
    "swish": nn.SiLU,
    "gelu": nn.GELU,
    "elu": nn.ELU,
    "celu": nn.CELU,
}
ADAM_BYTES = 28
"""Bytes that Adam moves for a parameter: it reads value, gradient and two moments, and writes all but the gradient."""
STATE_BYTES = 16
"""Bytes that the state of a parameter takes: value, gradient and two moments."""
SIZES = {"cpu": (256, 512, 1024), "cuda": (4096, 8192)}
TRIES = 5


def mlp(activation: nn.Module, classes: int) -> nn.Sequential:
    """784-100-100-classes; a learned slope is shared by both layers."""
    return nn.Sequential(nn.Linear(784, 100), activation, nn.Linear(100, 100), activation, nn.Linear(100, classes))


def cnn(activation: nn.Module, classes: int) -> nn.Sequential:
    """Two convolutions 5×5×16, valid, each with 2×2 max pooling behind the activation, then 100-100-classes."""
    return nn.Sequential(
        *(nn.Conv2d(3, 16, 5), activation, nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 16, 5), activation, nn.MaxPool2d(2), nn.Flatten()),
        *(nn.Linear(400, 100), activation, nn.Linear(100, 100), activation, nn.Linear(100, classes)),
    )


NETWORKS = {
    "mlp": mlp,
    "cnn": cnn,
    "vit": partial(PlainViT, **SETTINGS["vit"].options),
    "resnet18": partial(PlainResNet18, width=SETTINGS["resnet18"].options["width"]),
}


class Usual:
    """Run 0 of a workload. A burst takes as many steps as a pack's chunk has."""

    def __init__(self, workload: Workload, device: str) -> None:
        data = workload.data(1)
        setting = workload.setting
        self.model = NETWORKS[workload.network](MODULES[workload.activation](), setting.classes)
        load_start(self.model, data)
        self.model.to(device)
        shape = (-1, data.images.shape[2]) if workload.network == "mlp" else (-1, *setting.image)
        self.images = (data.images[0].float() / WHITE).reshape(shape).to(device)
        self.labels = data.labels[0].to(device)
        self.batches = torch.from_numpy(data.batches[0]).to(device)
        pulled = self.model.parameters() if workload.intervention == "l2_init" else ()
        self.first = [value.detach().clone() for value in pulled]
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=LEARNING_RATE)
        self.run_steps = len(self.batches)

    def burst(self) -> dict[str, Tensor]:
        """The steps: "loss" (of the data alone) and "accuracy" of each, (S,)."""
        losses, right = [], []
        for batch in self.batches:
            loss, logits, labels = self.loss(batch)
            self.optimizer.zero_grad()
            (loss + self.penalty() if self.first else loss).backward()
            self.optimizer.step()
            losses.append(loss.detach())
            right.append((logits.detach().argmax(dim=1) == labels).float().mean())
        return {"loss": torch.stack(losses).cpu(), "accuracy": torch.stack(right).cpu()}

    def loss(self, batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean loss of the batch with these indices, its logits, its labels."""
        labels = self.labels[batch]
        logits = self.model(self.images[batch])
        return functional.cross_entropy(logits, labels), logits, labels

    def penalty(self) -> Tensor:
        """L2-Init's, ()."""
        pulls = zip(self.model.parameters(), self.first, strict=True)
        return L2_INIT * sum((value - first).square().sum() for value, first in pulls)


def load_start(model: nn.Module, data: Data) -> None:
    """Gives the module run 0's first weights: layers come in the same order in both."""
    modules = [module for module in model.modules() if isinstance(module, nn.Linear | nn.Conv2d)]
    with torch.no_grad():
        for (weight, bias), module in zip(data.layers.values(), modules, strict=True):
            module.weight.copy_(weight[0].T.reshape(module.weight.shape))
            module.bias.copy_(bias[0])
        if data.tokens is not None:
            model.get_parameter("tokens").copy_(data.tokens[0])


@dataclass(frozen=True)
class Work:
    """A run-step in numbers: operations of matrix products and convolutions, forward and backward; parameters."""

    flops: int
    parameters: int


@dataclass(frozen=True)
class Limits:
    """Rates of the machine, per second.

    flops: operations of the fastest kernel. products: operations in matrix products. bandwidth: width of the pack →
    bytes.
    """

    flops: float
    products: float
    bandwidth: dict[int, float]

    def seconds(self, work: Work, width: int) -> float:
        """A run-step at these rates: its products, and then its update by Adam, which cannot overlap on one core."""
        return work.flops / self.flops + ADAM_BYTES * work.parameters / self.bandwidth[width]


def work_of(workload: Workload) -> Work:
    """Counted on the usual script's step; a packed step has the same products."""
    script = Usual(workload, "cpu")
    with FlopCounterMode(display=False) as counter:
        script.loss(script.batches[0])[0].backward()
    return Work(counter.get_total_flops(), sum(value.numel() for value in script.model.parameters()))


def limits_of(workload: Workload, widths: list[int], device: str) -> Limits:
    """Measured here and now: the best of several tries each."""
    parameters = work_of(workload).parameters
    products = max(rate_of_products(size, device) for size in SIZES[torch.device(device).type])
    return Limits(
        # On some CPUs torch's matrix products reach half the rate of its convolutions.
        flops=max(products, rate_of_convolutions()) if device == "cpu" else products,
        products=products,
        bandwidth={width: bandwidth_of(width * parameters * STATE_BYTES, device) for width in widths},
    )


def rate_of_products(size: int, device: str) -> float:
    """Operations a second of a square matrix product in float32."""
    left, right = (torch.rand(size, size, device=device) for _ in range(2))
    out = torch.empty_like(left)
    return 2 * size**3 / fastest(lambda: torch.mm(left, right, out=out), device)


def rate_of_convolutions() -> float:
    """Operations a second of a convolution with many channels."""
    shapes = (8, 128, 28, 28), (128, 128, 3, 3)
    images, kernels = (torch.rand(*shape).to(memory_format=torch.channels_last) for shape in shapes)
    operations = 2 * images.numel() * kernels[0].numel()
    return operations / fastest(lambda: torch.conv2d(images, kernels, padding=1), "cpu")


def bandwidth_of(working_set: int, device: str) -> float:
    """Bytes a second of scaling an array of `working_set` bytes in place, in a cache or not.

    Reading and writing the same places, as Adam does, moves more than copying from one place to another.
    """
    values = torch.rand(working_set // 4, device=device)
    return 8 * len(values) / fastest(lambda: values.mul_(1.0), device)


def fastest(work: Callable[[], object], device: str) -> float:
    """Seconds of one call: the best of several tries of some milliseconds each."""
    clock = time.process_time if device == "cpu" else time.perf_counter

    def seconds(calls: int) -> float:
        start = clock()
        for _ in range(calls):
            work()
        if device != "cpu":
            torch.cuda.synchronize(device)
        return (clock() - start) / calls

    seconds(1)
    calls = max(1, round(0.01 / seconds(3)))
    return min(seconds(calls) for _ in range(TRIES))
