"""The meaning of `tracking=` on this machine."""

from launch.tracking.wandb.environment import key_configured, require_key
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.settings import TrackingSettings

_FORBIDDEN = "/\\#?%:"
"""Characters that W&B does not allow in the name of a project."""


def check_tracking(tracking: TrackingSettings) -> None:
    """Raises ConfigError for a project name that W&B refuses, and for online tracking without a key."""
    if not tracking.project or any(sign in tracking.project for sign in _FORBIDDEN):
        right = f"a W&B project has a name without the signs {_FORBIDDEN}"
        raise ConfigError(f"tracking.project is {tracking.project!r}; {right}.")
    if tracking.backend == "wandb_online":
        require_key("tracking=wandb_online")


def decided(tracking: TrackingSettings) -> tuple[TrackingSettings, str]:
    """The settings with `auto` resolved on this machine, and a line that says where runs are written.

    The line is empty if the command itself asks for the store alone.
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
