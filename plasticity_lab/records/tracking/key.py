"""Whether a key of W&B's is configured, found out without importing wandb, which takes half a second."""

import configparser
import netrc
import os
from pathlib import Path
from urllib.parse import urlsplit

_CLOUD = "https://api.wandb.ai"


def key_configured() -> bool:
    """Whether W&B would find a key for its server: in the environment, or where `wandb login` puts it."""
    if os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_IDENTITY_TOKEN_FILE"):
        return True
    named = os.environ.get("NETRC")
    places = [Path(named)] if named else [Path.home() / ".netrc", Path.home() / "_netrc"]
    for place in places:
        try:
            if netrc.netrc(place).authenticators(urlsplit(_server()).netloc):
                return True
        except (OSError, netrc.NetrcParseError):
            continue
    return False


def _server() -> str:
    """The server that W&B talks to; `wandb login --host` keeps one in its settings."""
    if address := os.environ.get("WANDB_BASE_URL"):
        return address
    folder = os.environ.get("WANDB_CONFIG_DIR") or Path.home() / ".config" / "wandb"
    kept = configparser.ConfigParser(interpolation=None)
    try:
        kept.read(Path(folder) / "settings")
    except (OSError, configparser.Error, UnicodeDecodeError):
        return _CLOUD
    return kept.get("default", "base_url", fallback=_CLOUD)
