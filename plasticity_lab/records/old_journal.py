"""Old checkpoints, from before agents declared what they measure: a classifier's journal, in one flat mapping."""

from collections.abc import Mapping
from typing import Any

import torch

_SUMS = {"epoch": ("accuracy", "loss"), "task": ("accuracy",)}


def is_old(state: Mapping[str, Any]) -> bool:
    """Whether it is the state of such an old journal."""
    return "train_loss" in state


def translated(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state as the journal of a classifier takes it now."""
    same = {name: state[name] for name in ("task", "step", "steps", "epoch", "diverged")}
    means = {
        kind: {name: {part: state[f"{kind}_{name}_{part}"] for part in ("total", "count")} for name in names}
        for kind, names in _SUMS.items()
    }
    nothing = {"marks": torch.empty((0, 5), dtype=torch.int64), "values": torch.empty((0, 0), dtype=torch.float64)}
    return {
        **same,
        "inside": int(state["epoch_loss_count"] > 0),
        "means": means,
        "last": {"loss": state["train_loss"]},
        "events": {"marks": state["marks"], "values": state["values"]},
        "episodes": nothing,
    }
