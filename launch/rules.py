"""The groups whose options say where settings come from: what their files may hold."""

from typing import Any

from pydantic import Field

from launch.settings import Strict


class Hyperparams(Strict):
    """A table of published values: a file of conf/published/, or an absolute path; none: the options' own values."""

    look_up: str | None = None


class Protocol(Strict):
    """Values of components, group → setting → value, put in wherever a component has the setting."""

    set: dict[str, dict[str, Any]] = Field(default_factory=dict)


class Schedule(Strict):
    """Caps on the benchmark's tasks, epochs and steps, wherever it has them."""

    at_most: dict[str, int] = Field(default_factory=dict)


RULES = {"hyperparams": Hyperparams, "protocol": Protocol, "schedule": Schedule}
