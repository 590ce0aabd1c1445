import math

import numpy as np
import pytest
import torch

from plasticity_lab.randomness.device import BLOCK, philox, run_keys, uniforms

RUNS, STEPS, ELEMENTS = 16, 64, 512
SIGMAS = 5
PUBLISHED = [  # Random123, kat_vectors: philox4x32 10; counter, key, result
    ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
     (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
]  # fmt: skip


@pytest.mark.parametrize(("counter", "key", "result"), PUBLISHED)
def test_philox_gives_the_published_vectors(counter, key, result):
    words = philox(torch.tensor([key]), [torch.tensor([[word]]) for word in counter])
    assert tuple(int(word) for word in words) == result


@pytest.fixture(scope="module")
def drawn() -> np.ndarray:
    """(runs, steps, elements) of neighbouring seeds and neighbouring steps."""
    keys = run_keys(range(RUNS), "activation")
    return torch.stack([uniforms(keys, torch.tensor(step), ELEMENTS) for step in range(STEPS)], dim=1).numpy()


def test_numbers_are_uniform(drawn):
    x = drawn.astype(np.float64)
    assert drawn.dtype == np.float32
    assert 0 <= x.min()
    assert x.max() < 1
    assert abs(x.mean() - 1 / 2) < SIGMAS * math.sqrt(1 / 12 / x.size)
    assert abs(((x - 1 / 2) ** 2).mean() - 1 / 12) < SIGMAS * math.sqrt(1 / 180 / x.size)


@pytest.mark.parametrize("scale", [1, 2**8, 2**16], ids=["high bits", "middle bits", "low bits"])
def test_all_bits_are_uniform(drawn, scale):
    """χ² over 256 bins of each eight of the 24 bits."""
    counts = np.bincount((drawn.astype(np.float64) * scale * 256).astype(np.int64).ravel() % 256, minlength=256)
    expected = drawn.size / 256
    chi2 = ((counts - expected) ** 2 / expected).sum()
    assert abs(chi2 - 255) < SIGMAS * math.sqrt(2 * 255)


@pytest.mark.parametrize("axis", [0, 1, 2], ids=["run", "step", "element"])
@pytest.mark.parametrize("lag", [1, 2, 3, 4, 8])
def test_neighbours_are_uncorrelated(drawn, axis, lag):
    x = np.moveaxis(drawn.astype(np.float64) - 1 / 2, axis, 0)
    pairs = x[lag:] * x[:-lag]
    assert abs(pairs.mean()) < SIGMAS / 12 / math.sqrt(pairs.size)


@pytest.mark.parametrize("axis", [0, 1, 2], ids=["run", "step", "element"])
def test_pairs_of_neighbours_fill_the_square(drawn, axis):
    """χ² over 16 × 16 cells: sees dependence that has no correlation."""
    x = np.moveaxis((drawn.astype(np.float64) * 16).astype(np.int64), axis, 0)
    cells = (x[::2] * 16 + x[1::2]).ravel()
    expected = cells.size / 256
    chi2 = ((np.bincount(cells, minlength=256) - expected) ** 2 / expected).sum()
    assert abs(chi2 - 255) < SIGMAS * math.sqrt(2 * 255)


def test_sums_over_each_axis_vary_as_those_of_independent_numbers(drawn):
    """Sees shared offsets: of a run, of a step, of an element."""
    for axis in range(3):
        means = np.moveaxis(drawn.astype(np.float64), axis, 0).reshape(drawn.shape[axis], -1)
        z = (means.mean(axis=1) - 1 / 2) * math.sqrt(12 * means.shape[1])
        assert abs((z**2).sum() - len(z)) < SIGMAS * math.sqrt(2 * len(z))


@pytest.mark.parametrize("elements", [1, 3, 4, 7, 100, 1456])
def test_a_runs_numbers_do_not_depend_on_its_mates(elements):
    step = torch.tensor(123_456)
    alone = uniforms(run_keys([5], "activation"), step, elements)
    packed = uniforms(run_keys([9, 5, 7, 0], "activation"), step, elements)
    assert alone.shape == (1, elements)
    assert torch.equal(packed[1], alone[0])


def test_every_coordinate_changes_the_numbers():
    at = [(5, "noise", 3), (6, "noise", 3), (5, "other", 3), (5, "noise", 4), (5, "noise", 3 + 2**32)]
    drawn = {tuple(uniforms(run_keys([seed], of), torch.tensor(step), 8)[0].tolist()) for seed, of, step in at}
    assert len(drawn) == len(at)


@pytest.mark.parametrize("elements", [1, 10, 4 * BLOCK - 3, 4 * BLOCK + 5])
@pytest.mark.parametrize("step", [0, 7, 2**33 + 5])
def test_on_a_cpu_numpy_gives_the_same_numbers_as_tensors(monkeypatch, elements, step):
    keys = torch.cat([run_keys(range(4), "activation"), torch.tensor([[0xFFFFFFFF, 0xFFFFFFFF]])])
    by_numpy = uniforms(keys, torch.tensor(step), elements)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert torch.equal(by_numpy, uniforms(keys, torch.tensor(step), elements))
