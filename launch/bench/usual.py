"""The script people write today: one run, eager, nn.Module and torch.optim.Adam, a Python loop over steps.

The script is fast for its kind. It has no DataLoader: batches are gathered from a tensor of floats on the device. The
loop reads nothing back from the device.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from plasticity_lab.agents.supervised.workload import L2_INIT, LEARNING_RATE, WHITE, Data, Workload

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


NETWORKS = {"mlp": mlp, "cnn": cnn}


class Usual:
    """Run 0 of a workload. A burst takes as many steps as a pack's chunk has."""

    def __init__(self, workload: Workload, device: str) -> None:
        data = workload.data(1)
        setting = workload.setting
        self.model = NETWORKS[workload.network](MODULES[workload.activation](), setting.classes)
        load_start(self.model, data)
        self.model.to(device)
        shape = (-1, *setting.image) if workload.network == "cnn" else (-1, data.images.shape[2])
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
