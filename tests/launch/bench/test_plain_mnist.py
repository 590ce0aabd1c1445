"""The plain script of Permuted MNIST, on made images of the real files' form."""

import gzip
import re
import subprocess
import sys

import numpy as np
import pytest


@pytest.mark.slow
def test_it_learns_made_images_from_torchvisions_files(tmp_path):
    """Ten classes, each with pixels of its own that are white: whoever reads images and labels rightly learns them."""
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for part, count in (("train", 3_000), ("t10k", 500)):
        labels = np.arange(count, dtype=np.uint8) % 10
        images = np.where(np.arange(784) % 10 == labels[:, None], 255, 0).astype(np.uint8)
        (raw / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(bytes(16) + images.tobytes()))
        (raw / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(bytes(8) + labels.tobytes()))
    command = [sys.executable, "-m", "launch.bench.plain_mnist", "--data", tmp_path, "--tasks", "2"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    online, held_out = map(float, re.fullmatch(r"online (\S+), held out (\S+)\n", said).groups())
    assert held_out == 1
    assert 0.8 < online < 1
