"""Cautions about settings that are as published, although their measures differ from the expected ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

UNLIMITED_BODIES = {"halfcheetah", "halfcheetah_v4"}
"""Environments that never terminate, so that nothing stops a growing cost of actions."""


@dataclass(frozen=True)
class Caution:
    """Sentences about a benchmark (`said`, before training) and about its column in a table (`caption`)."""

    said: str
    caption: str


RECENCY = Caution(
    "in class blocks measures recency (how fast a network follows the class shown last) more than plasticity; "
    "benchmark.order=shuffle, which protocol=clean sets, measures plasticity.",
    "is trained in class blocks: the column measures recency (how fast a network follows the class shown last) more "
    "than plasticity.",
)
UNCLIPPED = Caution(
    "with agent=ppo as published looks broken on HalfCheetah: returns fall without limit, because actions are not "
    "clipped, and their cost is; agent.clip_action=true, which protocol=clean sets, clips them.",
    "has actions that are not clipped, as published: HalfCheetah's returns fall without limit by their cost; "
    "protocol=clean clips them.",
)


def cautions(benchmark: Mapping[str, Any], agent: Mapping[str, Any]) -> Sequence[Caution]:
    """The cautions for runs with these settings."""
    bodies = benchmark.get("bodies") or ()
    return [
        *([RECENCY] if benchmark.get("order") == "class_blocks" else []),
        *([UNCLIPPED] if agent.get("clip_action") is False and UNLIMITED_BODIES.intersection(bodies) else []),
    ]
