"""Value agents on Atari: packed = alone = resumed, over the agents of the presets and every kind of head."""

import pytest

from tests.agents.value.packs import SHORT
from tests.tenants.packs import hold

WORDS = (
    *(word for word in SHORT if not word.startswith("network")),
    "benchmark=atari",
    "benchmark.game=breakout",
    "benchmark.environment_steps=80",
    "benchmark.max_steps=30",
    "benchmark.tasks=1",
    "network.hidden=16",
    "agent.batch=4",
    "agent.min_history=40",
    "seed=0,1",
)
ARMS = {
    "dqn": ("agent=dqn", "network=nature"),
    "rainbow_lite": ("agent=rainbow_lite", "network=impala"),
    "der": ("agent=der", "network=nature", "agent.life_loss_is_terminal=true", "benchmark.sticky=0.0"),
    "average": ("agent=rainbow", "network=impala", "head=average"),
    "softmoe": ("agent=rainbow", "network=nature", "head=softmoe", "head.experts=2"),
    "expert_choice": ("agent=rainbow", "network=impala", "head=expert_choice", "network.tokens=per_patch"),
    "token_choice": ("agent=dqn", "network=nature", "head=token_choice", "head.experts=2"),
    "tokenised": ("agent=rainbow_lite", "network=impala", "head=tokenised", "network.tokens=per_feat"),
}
CYCLE = ("benchmark=atari_cycle", "benchmark.bodies=[pong,breakout]", "benchmark.tasks=2")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arm", [pytest.param(name, marks=[] if name == "der" else pytest.mark.slow) for name in (*ARMS, "cycle")]
)
def test_packed_alone_and_resumed_are_the_same(arm):
    words = (*WORDS, *ARMS.get(arm, ARMS["dqn"]))
    if arm == "cycle":
        own = ("benchmark=", "benchmark.game", "benchmark.tasks")
        words = (*(word for word in words if not word.startswith(own)), *CYCLE)
    hold(*words, stops=[1])
