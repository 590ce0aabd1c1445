"""The numbers of a small compiled pack on a GPU, for a test that compares those of two processes."""

import hashlib

import torch

from plasticity_lab.agents import torch_compiler
from tests.helpers.packs import images, run, trained


def digest(may_compile: bool) -> str:
    """Of two runs' numbers.  Raises AssertionError where something is compiled that may not be."""
    compiled = torch_compiler.compiled

    def watched(*arguments):
        assert may_compile, "it is compiled anew"
        return compiled(*arguments)

    torch_compiler.compiled = watched
    runs = [run(seed, "rrelu", network={"name": "mlp"}, images=96, tasks=2, batch_size=16) for seed in range(2)]
    pack = trained(runs, images(28, 96, 40), device=torch.device("cuda"), compiled=True)
    numbers = [pack.of(k) for k in range(2)]
    return hashlib.sha256(
        repr([sorted((name, value.tobytes()) for name, value in of.items()) for of in numbers]).encode()
    ).hexdigest()
