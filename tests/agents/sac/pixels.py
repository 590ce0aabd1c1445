"""Small packs of SAC on images, by real Atari games whose actions are numbers."""

WORDS = (
    "agent=sac",
    "benchmark=cale",
    "benchmark.game=breakout",
    "benchmark.environment_steps=60",
    "benchmark.max_steps=25",
    "benchmark.sticky=0.25",
    "network.channels=4",
    "network.hidden=8",
    "network.projection=6",
    "agent.batch=4",
    "agent.capacity=50",
    "agent.min_history=30",
    "agent.epoch_steps=20",
)
"""60 steps, episodes of 25 at most, a ring of 50 that comes round, an update in each fourth step from 30 on."""
