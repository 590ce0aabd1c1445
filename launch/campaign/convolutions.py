"""The seconds of both gradients of packed convolutions alone, next to torch's grouped convolutions.

    python -m launch.campaign.convolutions --device cuda --out results

Shapes as in the CNN's two layers, with 16 examples for each of 64 runs.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

from launch.bench.choices import write_result
from plasticity_lab.kernels.on_gpu import convolution
from plasticity_lab.process.exits import leave, status_of

LAYERS = {"first": (3, 32, 16), "second": (16, 14, 16)}
"""Layer → input channels, rows and columns, output channels."""
KERNEL = 5


def _measured(options: argparse.Namespace) -> None:
    rows = []
    for layer, (channels, side, outputs) in LAYERS.items():
        for way, made in (("packed", _packed), ("torch, grouped", _grouped)):
            x, weight, y = made(options, channels, side, outputs)
            delta = torch.randn_like(y)
            for of, to in (("the weights", weight), ("the images", x)):

                def gradient(y: Tensor = y, to: Tensor = to, delta: Tensor = delta) -> None:
                    torch.autograd.grad(y, to, delta, retain_graph=True)

                seconds = _seconds(gradient, options)
                facts = {"layer": layer, "width": options.width, "gradient": of}
                rows.append({"name": f"{way}: gradient of {of}", "facts": facts, "seconds": seconds})
    comparison = {"part": "convolutions", "name": "gradients of convolutions alone", "rows": rows}
    write_result(options.out, "bench", {"provenance": {"torch": torch.__version__}, "comparisons": [comparison]})


def _packed(options: argparse.Namespace, channels: int, side: int, outputs: int) -> tuple[Tensor, Tensor, Tensor]:
    """Images (K, B, C, H, W) and weights (K, O, C·kernel²), with the output of our convolution."""
    shape = options.width, options.batch, channels, side, side
    x = torch.randn(shape, device=options.device, requires_grad=True)
    weight = torch.randn(options.width, channels * KERNEL**2, outputs, device=options.device, requires_grad=True)
    return x, weight, convolution(x, weight, None, KERNEL)


def _grouped(options: argparse.Namespace, channels: int, side: int, outputs: int) -> tuple[Tensor, Tensor, Tensor]:
    """The same by one grouped convolution: images (B, K·C, H, W), weights (K·O, C, kernel, kernel)."""
    x = torch.randn(options.batch, options.width * channels, side, side, device=options.device, requires_grad=True)
    shape = options.width * outputs, channels, KERNEL, KERNEL
    weight = torch.randn(shape, device=options.device, requires_grad=True)
    return x, weight, torch.nn.functional.conv2d(x, weight, groups=options.width)


def _seconds(call: Callable[[], None], options: argparse.Namespace) -> float:
    """The median over rounds, after one call that compiles."""
    call()
    found = []
    for _ in range(options.repeats):
        _wait(options.device)
        begun = time.perf_counter()
        for _ in range(options.calls):
            call()
        _wait(options.device)
        found.append((time.perf_counter() - begun) / options.calls)
    return median(found)


def _wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize(device)


def _parser() -> argparse.ArgumentParser:
    about: Any = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser("python -m launch.campaign.convolutions", description=about)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--width", type=int, default=64, help="runs of a pack")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--calls", type=int, default=20, help="calls of a round")
    parser.add_argument("--repeats", type=int, default=5, help="rounds")
    parser.add_argument("--out", type=Path, default=Path("bench_results"))
    return parser


if __name__ == "__main__":
    leave(status_of(lambda: _measured(_parser().parse_args())))
