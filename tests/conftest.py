"""Every test runs as a worker does: one thread, denormals flushed; and none finds somebody's key of W&B's."""

import gc
import os
import signal
import sys

import pytest

from launch import wording
from tests.helpers.walks import (  # noqa: F401 (hooks)
    pytest_collection_modifyitems,
    pytest_report_header,
    pytest_runtest_setup,
)

# A shell starts what runs in its background with SIGINT ignored, and children inherit that: Ctrl-C could not be tested.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ |= {"NETRC": os.devnull}
for _name in ("WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE", "WANDB_BASE_URL", "WANDB_SERVICE"):
    os.environ.pop(_name, None)
# W&B waits in seconds, of which a busy machine needs many; they are read when it is imported, here and in children.
os.environ |= dict.fromkeys(("WANDB__SERVICE_WAIT", "WANDB_INIT_TIMEOUT", "WANDB_HTTP_TIMEOUT"), "600")


def pytest_collection_finish() -> None:
    """Lets the garbage collector pass over everything that was imported, which takes a second each time."""
    gc.collect()
    gc.freeze()
    # Tests edit classes within a second; Python knows a compiled module by the size and the second of its file.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


@pytest.fixture(scope="session", autouse=True)
def _as_a_worker():
    import torch  # here, since the process that hands tests out does not need it
    from torch._inductor.runtime.cache_dir_utils import default_cache_dir

    # torch's cache of compiled code does not tell vector capabilities apart, and code for another one writes behind its
    # buffers: as in workers, each has a folder of its own (`launch.work.process.prepare_compiling`).
    capability = torch.backends.cpu.get_cpu_capability().lower()
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", f"{default_cache_dir()}/{capability}")
    os.environ.pop("PLASTICITY_MINUTES", None)  # pytest that a test starts has all the time it needs
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    wording.FIRST_WORD_SECONDS = 600.0  # on a busy machine lines would come between those that tests read
