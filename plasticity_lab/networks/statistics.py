"""Running statistics of a network's layers: state of the run, which only the batch of an update moves."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from plasticity_lab.errors import ConfigError
from plasticity_lab.networks.network import Design, Shapes
from plasticity_lab.stacking.batch_normed import Learning, StackedBatchNormed


def first_statistics(design: Design, bodies: Mapping[str, Shapes]) -> dict[str, np.ndarray]:
    """The statistics of one run before the first update, by name; empty if no layer has any.

    Raises ConfigError if layers have some, and the agent does not learn from batches.
    """
    layers = [layer for layer in design.layers if isinstance(layer, StackedBatchNormed)]
    if layers and not all(shapes.batches for shapes in bodies.values()):
        raise ConfigError(
            "network.norm=batch normalises by the examples of a supervised update, two or more; choose "
            "network.norm=layer, or agent=supervised or experience_replay with benchmark.batch_size above 1."
        )
    return {name: first for layer in layers for name, first in layer.first_statistics().items()}


def in_update(layers: Iterable[Any], learning: Learning) -> list[Any]:
    """The layers in the forward pass of an update."""
    return [replace(layer, learning=learning) if isinstance(layer, StackedBatchNormed) else layer for layer in layers]
