"""What `tracking=` means: where runs are written on this machine, and what a worker does about it."""

from collections.abc import Sequence
from typing import Protocol

from launch.tracking.measured import Measured
from launch.tracking.wandb.key import key_configured, require_key
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Measures
from plasticity_lab.records.settings import TrackingSettings
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

_FORBIDDEN = "/\\#?%:"
"""Signs that W&B allows in no project's name."""


def check_tracking(tracking: TrackingSettings) -> None:
    """Raises ConfigError for a project name that W&B refuses, and for online tracking without a key."""
    if not tracking.project or any(sign in tracking.project for sign in _FORBIDDEN):
        raise ConfigError(
            f"tracking.project is {tracking.project!r}; the name of a W&B project is not empty and has none of the "
            f"signs {_FORBIDDEN}."
        )
    if tracking.backend == "wandb_online":
        require_key("tracking=wandb_online")


def decided(tracking: TrackingSettings) -> tuple[TrackingSettings, str]:
    """The settings with `auto` replaced by what it means here, and a line that says where runs are written.

    The line is empty where the command itself asks for the store alone.
    """
    backend = tracking.backend
    if backend == "auto":
        backend = "wandb_online" if key_configured() else "store"
    lines = {
        "wandb_online": f"tracking: W&B project {tracking.project}.",
        "wandb_offline": "tracking: offline W&B runs in the store; `python -m launch sync` uploads them.",
        "store": "tracking: the store alone, since no W&B key is configured.",
    }
    line = "" if tracking.backend == "store" else lines[backend]
    return tracking.model_copy(update={"backend": backend}), line


class Tracking(Protocol):
    """Follows one pack after another."""

    def begin(self, runs: Sequence[Run], measures: Measures) -> None:
        """Called when a pack begins, or goes on.  measures: what its journal measures."""
        ...

    def follow(self, journal: Measured) -> None:
        """Called now and then while it trains."""
        ...

    def state(self, state: str) -> None:
        """Called on another thread, when the worker begins to train, to compile or to wait."""
        ...

    def end(self, runs: Sequence[Run], recorded: bool) -> None:
        """Called when its training ends; recorded: whether its runs have records now."""
        ...

    def close(self, stopped: bool) -> None:
        """Called when the worker ends; stopped: whether it was asked to."""
        ...


class Untracked:
    """Tracking that does nothing: tracking=store."""

    def begin(self, runs: Sequence[Run], measures: Measures) -> None:
        """Nothing."""

    def follow(self, journal: Measured) -> None:
        """Nothing."""

    def state(self, state: str) -> None:
        """Nothing."""

    def end(self, runs: Sequence[Run], recorded: bool) -> None:
        """Nothing."""

    def close(self, stopped: bool) -> None:
        """Nothing."""


UNTRACKED = Untracked()


def tracking_of(store: Store, sweep: str, settings: TrackingSettings) -> Tracking:
    """The tracking that a plan asks for."""
    if settings.backend == "store":
        return UNTRACKED
    from launch.tracking.client import Tracked  # those who do not track need not import it
    from launch.tracking.wandb.marks import destination_of

    destination = destination_of(settings)
    return UNTRACKED if destination is None else Tracked(store, sweep, destination, settings.live_runs)
