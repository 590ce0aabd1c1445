"""Whether runs can be written to W&B as `tracking=` says."""

import http.client
import urllib.error
import urllib.request

from launch.doctor.finding import FAILS, OK, Finding
from launch.tracking.choice import check_tracking, decided
from launch.tracking.wandb.key import HOW_TO_CONFIGURE, key_configured, server
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.settings import TrackingSettings

NETWORK_SECONDS = 15.0
INSTEAD = "say tracking=wandb_offline, and upload later with `python -m launch sync`"


def of_tracking(tracking: TrackingSettings, trains: bool) -> tuple[list[Finding], bool]:
    """What holds where the command is given, and whether its workers are to write to W&B online.

    trains: whether they are on this machine; where they are not, its network does not matter.
    """
    there, _ = decided(tracking)
    online = there.backend == "wandb_online"
    try:
        check_tracking(tracking)
    except ConfigError as error:
        return [Finding(FAILS, f"W&B: {error}")], online
    chosen = f"tracking={tracking.backend}" + (f", which is {there.backend} here" if there != tracking else "")
    found = [Finding(OK, f"W&B: {chosen}.")]
    return [*found, of_network("from this machine")] if online and trains else found, online


def of_key(where: str) -> Finding:
    """Whether a key is found where a worker is to write with it."""
    if key_configured():
        return Finding(OK, "W&B: a key is found.")
    return Finding(FAILS, f"W&B: no key is found {where}: {HOW_TO_CONFIGURE}; or {INSTEAD}.")


def of_network(where: str) -> Finding:
    """Whether W&B's server answers."""
    address = server()
    try:
        with urllib.request.urlopen(address, timeout=NETWORK_SECONDS):
            pass
    except urllib.error.HTTPError:
        pass  # it has answered
    except (OSError, ValueError, http.client.HTTPException) as error:
        why = getattr(error, "reason", None) or error
        return Finding(FAILS, f"W&B: {address} cannot be reached {where} ({why}); {INSTEAD}.")
    return Finding(OK, f"W&B: {address} answers.")
