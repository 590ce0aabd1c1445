"""What `tracking=` comes to on this machine, at this moment."""

from launch.tracking.key import key_configured
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.settings import TrackingSettings

_NO_SIGNS = "/\\#?%:"


def check_tracking(tracking: TrackingSettings) -> None:
    """Raises ConfigError for a project that W&B cannot have, and where it is to be written online without a key."""
    if not tracking.project or any(sign in tracking.project for sign in _NO_SIGNS):
        raise ConfigError(f"tracking.project is {tracking.project!r}; W&B's projects have a name without {_NO_SIGNS}")
    if tracking.backend == "wandb_online" and not key_configured():
        raise ConfigError(
            "tracking=wandb_online needs a key of W&B's, and none is configured: `wandb login` keeps one, "
            "the environment's WANDB_API_KEY names one."
        )


def decided(tracking: TrackingSettings) -> tuple[TrackingSettings, str]:
    """The settings with `auto` replaced by what it means here, and a line that says where runs are written, if any."""
    backend = tracking.backend
    if backend == "auto":
        backend = "wandb_online" if key_configured() else "store"
    words = {
        "wandb_online": f"tracking: W&B project {tracking.project}.",
        "wandb_offline": "tracking: offline W&B runs in the store; `python -m launch sync` uploads them.",
        "store": "tracking: the store alone, since no key of W&B's is configured.",
    }
    said = "" if tracking.backend == "store" else words[backend]
    return tracking.model_copy(update={"backend": backend}), said
