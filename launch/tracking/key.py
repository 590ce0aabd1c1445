"""Whether a key of W&B's is configured, found out without importing wandb, which takes half a second."""

import configparser
import netrc
import os
from pathlib import Path
from urllib.parse import urlsplit

CLOUD = "https://api.forge.coreweave.com"
"""W&B's own server, unless settings name another."""
EARLIER = "api.wandb.ai"
"""Its name until wandb 0.31: what `wandb login` kept under it is still its key. A test asks wandb for both."""


def key_configured() -> bool:
    """Whether W&B would find a key for its server: in the environment, or where `wandb login` puts it."""
    if os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_IDENTITY_TOKEN_FILE"):
        return True
    named = os.environ.get("NETRC")
    host = urlsplit(server()).netloc
    places = [Path(named).expanduser()] if named else [Path.home() / ".netrc", Path.home() / "_netrc"]
    for place in places:
        try:
            kept = netrc.netrc(place)
        except (OSError, netrc.NetrcParseError):
            continue
        if kept.authenticators(host) or (host == urlsplit(CLOUD).netloc and kept.authenticators(EARLIER)):
            return True
    return False


def server() -> str:
    """The address of the server that W&B talks to; `wandb login --host` keeps one in its settings."""
    if address := os.environ.get("WANDB_BASE_URL"):
        return address
    folder = os.environ.get("WANDB_CONFIG_DIR") or Path.home() / ".config" / "wandb"
    kept = configparser.ConfigParser(interpolation=None)
    try:
        kept.read(Path(folder) / "settings")
    except (OSError, configparser.Error, UnicodeDecodeError):
        return CLOUD
    return kept.get("default", "base_url", fallback=CLOUD)
