"""Whether a W&B key is configured, found out without importing wandb, which takes a second."""

import configparser
import netrc
import os
from pathlib import Path
from urllib.parse import urlsplit

from plasticity_lab.errors import ConfigError
from plasticity_lab.process.account import expanded, settle_account

CLOUD = "https://api.forge.coreweave.com"
"""W&B's own server, unless settings name another."""
EARLIER = "api.wandb.ai"
"""The host of W&B's server before wandb 0.31: a key that `wandb login` stored for it is still valid."""
HOW_TO_CONFIGURE = "`wandb login` stores one, or the environment variable WANDB_API_KEY gives one"


def require_key(what: str, instead: str = "") -> None:
    """Raises ConfigError if no key is configured.  what: what needs it; instead: a sentence about what needs none."""
    if not key_configured():
        sentence = f"{what} needs a W&B key, and none is configured: {HOW_TO_CONFIGURE}."
        raise ConfigError(f"{sentence} {instead}".rstrip())


def key_configured() -> bool:
    """Whether W&B would find a key for its server: in the environment, or where `wandb login` stores it."""
    if os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_IDENTITY_TOKEN_FILE"):
        return True
    settle_account()
    named = os.environ.get("NETRC")
    host = urlsplit(server()).netloc
    files = [expanded(named)] if named else [Path.home() / ".netrc", Path.home() / "_netrc"]
    for file in files:
        try:
            stored = netrc.netrc(file)
        except (OSError, netrc.NetrcParseError):
            continue
        if stored.authenticators(host) or (host == urlsplit(CLOUD).netloc and stored.authenticators(EARLIER)):
            return True
    return False


def server() -> str:
    """The address of the server that W&B talks to; `wandb login --host` stores it in W&B's settings file."""
    if address := os.environ.get("WANDB_BASE_URL"):
        return address
    settle_account()
    folder = os.environ.get("WANDB_CONFIG_DIR") or Path.home() / ".config" / "wandb"
    settings = configparser.ConfigParser(interpolation=None)
    try:
        settings.read(Path(folder) / "settings")
    except (OSError, configparser.Error, UnicodeDecodeError):
        return CLOUD
    return settings.get("default", "base_url", fallback=CLOUD)
