"""An eager gradient and the preparation of kernels import no compiler: it would take a second of every worker."""

import subprocess
import sys

from tests.helpers.packs import needs_kernels

SCRIPT = """
import sys
import torch
from launch.work.process import prepare_process
from plasticity_lab.kernels.through import prepare

prepare_process()
prepare()
x = torch.ones(3)
assert torch.equal(torch.func.grad(lambda x: (x * x).sum())(x), 2 * x)
assert "torch._dynamo" not in sys.modules
assert torch.compiler.disable(lambda x: x + 1)(x)[0] == 2
assert torch._dynamo.config is sys.modules["torch._dynamo"].config
"""


@needs_kernels
def test_workers_import_torchs_compiler_only_to_compile():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
