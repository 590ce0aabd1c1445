"""Permuted MNIST as people write it: one run a process, eager, nn.Module and torch.optim.Adam.

    python -m launch.bench.plain_mnist --data DATA --tasks 20 --seed 0

It prints the mean accuracy on the batches before each update, and the mean accuracy on the 10,000 held-out images after
each task. It shares no code with the laboratory, and reads torchvision's files of MNIST. `launch.bench.whole` runs it.
"""

import argparse
import gzip
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

IMAGES, BATCH, PIXELS, CLASSES, WIDTH = 10_000, 16, 784, 10, 100
EVALUATED = 1_000
"""Held-out images at a time."""


def read(path: Path, header: int) -> Tensor:
    """The bytes of one of MNIST's files behind its header."""
    return torch.from_numpy(np.frombuffer(gzip.decompress(path.read_bytes())[header:], np.uint8).copy())


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m launch.bench.plain_mnist", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds MNIST/raw; required")
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    draw = torch.Generator().manual_seed(options.seed)
    torch.manual_seed(options.seed)  # noqa: TID251 (a separate script, which seeds as such scripts do)
    raw = options.data / "MNIST" / "raw"
    images, test = (
        read(raw / f"{part}-images-idx3-ubyte.gz", 16).view(-1, PIXELS).float() / 255 for part in ("train", "t10k")
    )
    labels, test_labels = (read(raw / f"{part}-labels-idx1-ubyte.gz", 8).long() for part in ("train", "t10k"))
    chosen = torch.randperm(len(images), generator=draw)[:IMAGES]
    images, labels = images[chosen], labels[chosen]
    model = nn.Sequential(
        nn.Linear(PIXELS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    online, held_out = [], []
    for _ in range(options.tasks):
        pixels = torch.randperm(PIXELS, generator=draw)
        x, x_test = images[:, pixels], test[:, pixels]
        right = torch.zeros(())
        for rows in torch.randperm(len(x), generator=draw).split(BATCH):
            logits = model(x[rows])
            loss = functional.cross_entropy(logits, labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right += (logits.detach().argmax(dim=1) == labels[rows]).sum()
        online.append(float(right) / len(x))
        with torch.no_grad():
            answers = torch.cat([model(part).argmax(dim=1) for part in x_test.split(EVALUATED)])
        held_out.append(float((answers == test_labels).float().mean()))
    print(f"online {np.mean(online):.4f}, held out {np.mean(held_out):.4f}")


if __name__ == "__main__":
    main()
