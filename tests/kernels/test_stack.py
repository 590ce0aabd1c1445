"""Many steps in one call: the bits of the single operators, and of the functions that compiled code composes."""

import subprocess
import sys
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from plasticity_lab.agents.supervised.stack_activation import FUNCTIONS
from plasticity_lab.kernels import build
from plasticity_lab.kernels.through import prepare
from plasticity_lab.stacking import composed
from plasticity_lab.stacking.products import sums_below_two

pytestmark = pytest.mark.skipif(build.missing() is not None, reason=f"no kernels: {build.missing()}")
ADAM = [0.1, 0.001, 0.999, 1e-8, 1e-2, 3.0, 0.999]
SGD = [0.05, 0.9, 0.01]
NONE = torch.empty(0)
MOMENTS = {"stack_adam": 2, "stack_sgd": 1}


@pytest.fixture(autouse=True, scope="module")
def prepared():
    prepare()


@dataclass
class Pack:
    """The arguments of a kernel, for hidden and output layers of these widths: 9 rows, images with many zeros.

    slopes: Leaky-ReLU; drawn: Randomized Smooth-Leaky; neither: ReLU.
    """

    kernel: str
    runs: int
    widths: list[int]
    batch: int = 16
    pixels: int = 49
    channels: int = 1
    slopes: bool = False
    drawn: bool = False
    rows: int = 9
    rate: float = 1.0

    def __post_init__(self) -> None:
        draw = torch.Generator().manual_seed(0)
        shape = self.rows, self.runs, self.batch
        self.images = (
            torch.randint(0, 256, (40, self.pixels), generator=draw)
            .where(torch.rand(40, self.pixels, generator=draw) < 0.3, 0)
            .byte()
        )
        self.images[20:] = torch.randint(0, 256, (20, self.pixels), generator=draw).byte()  # these have no zeros
        self.brightness = torch.arange(256) / 255 * torch.arange(1, self.channels + 1).unsqueeze(1)
        halves = 20 * (torch.arange(self.rows) % 2).view(-1, 1, 1)
        self.at, self.labels = (
            torch.randint(0, 20, shape, generator=draw) + halves,
            torch.randint(0, self.widths[-1], shape, generator=draw),
        )
        self.weights = torch.full((self.rows, self.batch), 1 / self.batch)
        self.weights[-1] = (torch.arange(self.batch) < 3) / 3
        own = torch.tensor(ADAM if "adam" in self.kernel else SGD)
        self.numbers = own.repeat(self.rows, self.runs, 1)
        self.numbers[..., 4 if "adam" in self.kernel else 0] *= self.rate * (1 + torch.arange(self.runs))
        self.below = torch.linspace(0.01, 0.5, self.runs).unsqueeze(1) if self.slopes else torch.empty(0, 0)
        self.function, self.settings = int(self.slopes), self.below
        if self.drawn:
            self.function = list(FUNCTIONS).index("randomized_smooth_leaky")
            self.settings = torch.tensor([[5 / 3, 0.3, 1.0]]).repeat(self.runs, 1)
        held = self.kernel.endswith("_held")
        self.pulls = torch.full((self.runs,), 0.1) if held else NONE
        self.bounds = torch.full((len(self.widths), self.runs), 0.3) if held else NONE
        inputs = [self.pixels, *self.widths[:-1]]
        padded = [o if i * o % 4 == 0 else -(-o // 4) * 4 for i, o in zip(inputs, self.widths, strict=True)]
        self.parameters: list[Tensor] = []
        for i, o, stored in zip(inputs, self.widths, padded, strict=True):
            there = torch.arange(stored) < o
            self.parameters += [
                torch.randn(self.runs, rows, stored, generator=draw) * there / i**0.5 for rows in (i, 1)
            ]
        moments = self.kinds - 1
        self.parameters += [torch.zeros_like(each) for _ in range(moments) for each in self.parameters]
        self.losses, self.right = torch.full(shape, -1.0), torch.zeros(shape, dtype=torch.bool)

    def steps(self, first: int, count: int) -> None:
        key, position = torch.zeros(self.runs, 2, dtype=torch.int64), torch.arange(self.rows)
        getattr(torch.ops.plasticity_lab, self.kernel)(
            self.images, self.brightness, self.at, self.labels, self.weights, self.numbers, self.function,
            self.settings, key, position, self.widths, self.parameters, self.losses, self.right, self.pulls, [],
            self.bounds, first, count,
        )  # fmt: skip

    def one_by_one(self) -> None:
        """The same steps by the single operators."""
        kernels, depth = torch.ops.plasticity_lab, len(self.widths)
        place = torch.arange(self.pixels) // (self.pixels // self.channels)
        for s in range(self.rows):
            inputs = [self.brightness[place, self.images[self.at[s]].long()]]
            outputs: list[Tensor] = []
            for layer, width in enumerate(self.widths):
                outputs.append(kernels.linear(inputs[-1], *self.parameters[2 * layer : 2 * layer + 2]))
                inputs.append((outputs[-1] * self.factor(outputs[-1]))[..., :width].contiguous())
            logits = outputs[-1][..., : self.widths[-1]]
            delta, self.losses[s], self.right[s] = cross_entropy(logits, self.labels[s], self.weights[s])
            delta = torch.nn.functional.pad(delta, (0, outputs[-1].shape[2] - self.widths[-1]))
            for layer in reversed(range(depth)):
                by_input = kernels.linear_input(delta, self.parameters[2 * layer]) if layer else None
                own = [self.parameters[2 * (depth * m + layer) + part] for m in range(self.kinds) for part in (0, 1)]
                step = getattr(kernels, self.kernel.replace("stack", "linear"))
                step(inputs[layer], delta, self.numbers[s].contiguous(), *own)
                if by_input is not None:
                    before = outputs[layer - 1]
                    padding = before.shape[2] - by_input.shape[2]
                    delta = torch.nn.functional.pad(by_input, (0, padding)) * self.factor(before)

    def factor(self, x: Tensor) -> Tensor:
        below = self.below.view(-1, 1, 1) if self.slopes else torch.zeros(1)
        return torch.where(x > 0, 1.0, below)

    @property
    def kinds(self) -> int:
        return 1 + MOMENTS[self.kernel.removesuffix("_held")]

    @property
    def numbers_of_all(self) -> list[Tensor]:
        return [*self.parameters, self.losses, self.right]


def cross_entropy(logits: Tensor, labels: Tensor, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The gradient of Σ weight · loss by the logits, the losses, and which examples are right."""
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    powers = composed.exp(shifted)
    total = sums_below_two(powers)
    chosen = torch.arange(logits.shape[-1]) == labels.unsqueeze(-1)
    own = torch.where(chosen, shifted, -torch.inf).amax(dim=-1)
    delta = -weights.unsqueeze(-1) * (chosen.float() - powers / total.unsqueeze(-1))
    return delta, composed.log(total) - own, logits.argmax(dim=-1) == labels


CASES = {
    "relu": Pack("stack_adam", 2, [13, 20, 10]),
    "slopes of runs": Pack("stack_adam", 3, [100, 13, 3], slopes=True),
    "sgd": Pack("stack_sgd", 2, [13, 20, 10], slopes=True),
    "one layer, many classes": Pack("stack_adam", 1, [100], batch=4),
    "channels": Pack("stack_adam", 2, [7, 10], pixels=48, channels=3, batch=8),
    "far from 0": Pack("stack_sgd", 2, [13, 20, 10], rate=30.0),
    "dead units": Pack("stack_adam", 2, [64, 13, 10], rate=40.0),
}


@pytest.mark.parametrize("case", CASES)
def test_many_steps_are_the_single_operators(case):
    """To the bit, for parameters, moments, losses and right answers."""
    pack, single = (Pack(**vars_of(CASES[case])) for _ in range(2))
    started = [each.clone() for each in pack.parameters]
    pack.steps(0, pack.rows)
    single.one_by_one()
    for one, other in zip(pack.numbers_of_all, single.numbers_of_all, strict=True):
        assert torch.isfinite(other).all()
        assert torch.equal(one, other)
    assert not any(torch.equal(one, other) for one, other in zip(started, pack.parameters, strict=True))


def vars_of(pack: Pack) -> dict:
    return {name: getattr(pack, name) for name in Pack.__dataclass_fields__}


def test_any_division_into_calls_is_the_same():
    """Also calls of more rows than a run takes before the next run does; rows outside of a call are not written."""
    whole, parts = (Pack("stack_adam", 3, [13, 10], rows=41) for _ in range(2))
    whole.steps(0, 41)
    parts.steps(0, 0)
    for first, count in ((0, 1), (1, 2), (3, 17), (20, 21)):
        assert (parts.losses[first:] == -1).all()
        parts.steps(first, count)
        assert (parts.losses[:first] >= 0).all()
    for one, other in zip(whole.numbers_of_all, parts.numbers_of_all, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("run", [0, 2])
def test_a_run_alone_is_the_same(run):
    pack, own = Pack("stack_adam", 3, [13, 10], slopes=True), Pack("stack_adam", 3, [13, 10], slopes=True)
    pack.steps(0, 9)
    for name in ("at", "labels", "numbers", "losses", "right"):
        setattr(own, name, getattr(own, name)[:, run : run + 1].contiguous())
    own.parameters = [each[run : run + 1].clone() for each in own.parameters]
    own.settings = own.settings[run : run + 1].clone()
    own.steps(0, 9)
    for one, other in zip(own.parameters, pack.parameters, strict=True):
        assert torch.equal(one[0], other[run])
    assert torch.equal(own.losses[:, 0], pack.losses[:, run])


@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf])
def test_a_number_that_is_none_shows_in_the_loss(number):
    """As in the composed loss; the other run is as before."""
    pack, usual = Pack("stack_adam", 2, [13, 10]), Pack("stack_adam", 2, [13, 10])
    pack.parameters[3][0, 0, 4] = number  # the bias of a logit
    pack.labels[:] = usual.labels[:] = 3
    pack.steps(0, 9)
    usual.steps(0, 9)
    assert torch.isnan(pack.losses[:, 0]).any() == (number != -torch.inf)
    assert torch.equal(pack.losses[:, 1], usual.losses[:, 1])


def test_wrong_tables_are_refused():
    pack = Pack("stack_adam", 2, [13, 10])
    for first, count in ((0, 10), (9, 1), (-1, 2)):
        with pytest.raises(RuntimeError, match="no such rows"):
            pack.steps(first, count)
    pack.at[4, 1, 3] = 40
    with pytest.raises(RuntimeError, match="an image that is not there"):
        pack.steps(0, 9)
    pack.parameters.pop()
    with pytest.raises(RuntimeError, match="other parameters"):
        pack.steps(0, 1)


SCRIPT = """
import sys
from plasticity_lab.kernels import build
build.FLAGS["AVX512"] = build.FLAGS[sys.argv[1]]
from plasticity_lab.kernels.through import prepare
from tests.kernels.test_stack import Pack
prepare()
for pack in (
    Pack("stack_adam", 2, [100, 13, 10], slopes=True),
    Pack("stack_sgd", 2, [13, 37]),
    Pack("stack_adam_held", 2, [21, 10], drawn=True),
):
    pack.steps(0, 9)
    print([each.numpy().tobytes().hex() for each in pack.numbers_of_all])
"""


@pytest.mark.slow
def test_avx2_and_avx512_give_the_same_bits(tmp_path, monkeypatch):
    """On a processor that has only the former, both are that one."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    told = {subprocess.check_output([sys.executable, "-c", SCRIPT, name], text=True) for name in ("AVX512", "AVX2")}
    assert len(told) == 1
