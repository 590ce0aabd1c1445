"""The groups whose options say where settings come from: what their files may hold."""

from typing import Annotated, Any, Literal

from pydantic import Field

from plasticity_lab.records.settings import Strict


class Grid(Strict):
    """What is tried beside the shapes that activations list: learning rates, and the shapes of a published table."""

    learning_rates: list[Annotated[float, Field(gt=0)]] = Field(min_length=1)
    unite: str | None = None


class Hyperparams(Strict):
    """Where shape parameters and learning rates come from; where nothing is set, from the options' own files.

    look_up: a table of published values, a file of conf/published/ or an absolute path. grids: the named grids, and
    `grid` the one to use (none: the benchmark's own). optimizers: those that learning rates of either are for; others
    keep their own (none: they serve all). metric: the name of a summary by which the best of a store are selected; of
    each, more is better.
    """

    look_up: str | None = None
    optimizers: list[str] | None = None
    grids: dict[str, Grid] | None = None
    grid: str | None = None
    metric: (
        Literal[
            "taoa",
            "taoa_all",
            "aoa_first_tenth",
            "aoa_last_tenth",
            "aoa_slope",
            "final_accuracy",
            "final_accuracy_last_task",
        ]
        | None
    ) = None


class Protocol(Strict):
    """Values of components, group → setting → value, put in wherever a component has the setting."""

    set: dict[str, dict[str, Any]] = Field(default_factory=dict)


class Schedule(Strict):
    """Caps on the benchmark's tasks, epochs and steps, wherever it has them."""

    at_most: dict[str, int] = Field(default_factory=dict)


RULES = {"hyperparams": Hyperparams, "protocol": Protocol, "schedule": Schedule}

ADJUSTABLE = {"hyperparams.grid": "grids", "hyperparams.metric": "metric"}
"""Keys of rules that a command can set, and the key that an option's file must have for them to mean anything."""
