"""Every sort of step lowers for a GPU, where there is none; it needs a torch built for CUDA (see `lowering`)."""

import collections
import importlib.util

import pytest
import torch

from plasticity_lab.assembly import assembled, resources
from plasticity_lab.records.position import Position
from tests.agents.ppo.packs import ONE, there_are
from tests.agents.sac.packs import SMALL as SAC
from tests.agents.value.packs import BY_AGENT
from tests.cuda.lowering import lowered
from tests.helpers.packs import CPU
from tests.tenants.packs import Path, packs_of

WHY = "it needs a torch built for CUDA, with its Triton, and no GPU"
CAN = torch.version.cuda and importlib.util.find_spec("triton") and not torch.cuda.is_available()
pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not CAN, reason=WHY),
    pytest.mark.filterwarnings("ignore"),  # of torch's own, which are other ones in each of its versions
]
DIGITS = ("benchmark=permuted_digits", "benchmark.tasks=1", "network.width=16")
IMAGES = ("benchmark=digits51", "benchmark.tasks=1", "benchmark.normalise=raw", "network=cnn", "network.padding=same")
PIXELS = (
    "benchmark.tasks=1",
    "benchmark.stack=2",
    "network=small_nature",
    "network.hidden=8",
    "network.width=1",
    "agent.capacity=90",
    "agent.min_history=40",
)
EXPERTS = ("head=softmoe", "head.experts=4")
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
    "impala": (*BY_AGENT["rainbow"], *PIXELS[:1], "network=small_impala", "network.hidden=8"),
    "sac": SAC,
}


class Taken(Exception):
    """The steps were lowered."""


@pytest.mark.parametrize("arm", ARMS)
def test_its_steps_become_kernels(arm, monkeypatch, tmp_path):
    there_are(monkeypatch)
    runs = packs_of(*ARMS[arm], "seed=0,1")
    stream, learner = assembled(runs, resources(Path())(runs[0]), CPU, compiled=False)
    task = stream.task(0)
    learner.begin(task, fresh=True)

    def watched(step, last=True):
        def instead(*arguments):
            assert lowered(step, arguments, tmp_path) > 0
            result = step(*arguments)
            if last:
                raise Taken
            return result

        return instead

    if hasattr(learner, "_steps"):
        learner._steps = {name: watched(step) for name, step in learner._steps.items()}
    elif hasattr(learner, "critics_step"):
        learner.critics_step = watched(learner.critics_step, last=False)
        learner.actor_step = watched(learner.actor_step)
    else:
        learner.step = watched(learner.step)
    with pytest.raises(Taken):
        collections.deque(map(learner.advance, task.chunks(Position(0, 0))), maxlen=0)
