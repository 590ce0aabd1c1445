"""Every sort of step lowers for a GPU, where there is none; it needs a torch built for CUDA (see `lowering`)."""

import importlib.util

import pytest
import torch

from tests.agents.ppo.packs import ONE, there_are
from tests.agents.sac.packs import SMALL as SAC
from tests.agents.sac.pixels import WORDS as SAC_ON_IMAGES
from tests.agents.value.packs import BY_AGENT
from tests.cuda.lowering import lowered
from tests.helpers.first_steps import EXPERTS, PIXELS, first_steps

WHY = "it needs a torch built for CUDA, with its Triton, and no GPU"
CAN = torch.version.cuda and importlib.util.find_spec("triton") and not torch.cuda.is_available()
pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not CAN, reason=WHY),
    pytest.mark.filterwarnings("ignore"),  # of torch's own, which are other ones in each of its versions
]
DIGITS = ("benchmark=permuted_digits", "benchmark.tasks=1", "network.width=16")
IMAGES = ("benchmark=digits51", "benchmark.tasks=1", "benchmark.normalise=raw", "network=cnn", "network.padding=same")
ARMS = {
    **{
        name: (*DIGITS, f"activation={name}")
        for name in (
            "relu",
            "rrelu",
            "swiglu",
            "crelu",
            "deep_fourier",
            "rational",
            "prelu",
            "gelu",
            "rand_smooth_leaky",
        )
    },
    **{name: (*DIGITS, f"intervention={name}") for name in ("continual_backprop", "snr", "spectral", "l2_init")},
    "convolutions": (*IMAGES, "activation=rrelu"),
    "ppo": (*ONE, "agent.max_norm=0.5", "activation=rrelu"),
    "dqn": BY_AGENT["dqn"],
    "rainbow": (*BY_AGENT["rainbow"], *PIXELS),
    "der with experts": (*BY_AGENT["der"], *PIXELS, *EXPERTS),
    "token choice": (*BY_AGENT["rainbow_lite"], *PIXELS, "head=token_choice", "head.experts=4"),
    "shuffled tokens": (*BY_AGENT["rainbow_lite"], *PIXELS, *EXPERTS, "network.tokens=shuffled"),
    "impala": (*BY_AGENT["rainbow"], "network=small_impala", "network.hidden=8"),
    "sac": SAC,
    "sac on images": SAC_ON_IMAGES,
}


@pytest.mark.parametrize("arm", ARMS)
def test_its_steps_become_kernels(arm, monkeypatch, tmp_path):
    there_are(monkeypatch)

    def becomes_kernels(step, arguments):
        assert lowered(step, arguments, tmp_path) > 0

    first_steps(becomes_kernels, *ARMS[arm])
