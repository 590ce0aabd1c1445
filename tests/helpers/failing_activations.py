"""Activations that fail the packs they are in, planted on a search path as a user's own would be."""

import os
import signal
from pathlib import Path

import torch

from plasticity_lab.activations.leaky_relu import LeakyReLU

AT_FAULT = 0.5
"""The slope of the run at fault; an exact float32."""
EARLIER_CALLS = 40
"""Calls that go well before."""


class Late(LeakyReLU):
    """Leaky ReLU for a while; then its pack fails if the run at fault is in it."""

    def __init__(self, negative_slope: float) -> None:
        super().__init__(negative_slope)
        self.calls = 0

    def __call__(self, x, site):
        self.calls += 1
        if self.calls > EARLIER_CALLS:
            self.fail(site.shape["negative_slope"].tolist())
        return super().__call__(x, site)

    def fail(self, slopes):
        raise NotImplementedError


class Broken(Late):
    def fail(self, slopes):
        if AT_FAULT in slopes:
            raise RuntimeError("this formula is broken")


class AllBroken(Late):
    def fail(self, slopes):
        raise RuntimeError("this formula is broken for all")


class Hungry(Late):
    def fail(self, slopes):
        if len(slopes) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB.")


class Killed(Late):
    """Ends its process without a word, as Linux does when a control group's memory is used up."""

    def fail(self, slopes):
        if AT_FAULT in slopes:
            os.kill(os.getpid(), signal.SIGKILL)


def planted(folder: Path) -> str:
    """Makes the choices activation=broken, all_broken, hungry and killed in a folder; the word that finds them."""
    choices = folder / "planted" / "activation"
    choices.mkdir(parents=True)
    for name in ("Broken", "AllBroken", "Hungry", "Killed"):
        choice = "all_broken" if name == "AllBroken" else name.lower()
        settings = f"_target_: tests.helpers.failing_activations.{name}\nnegative_slope: 0.01\n"
        (choices / f"{choice}.yaml").write_text(settings)
    return f"hydra.searchpath=[file://{choices.parent}]"
