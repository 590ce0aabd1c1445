"""W&B's environment, read without importing wandb, which takes a second, and the meaning of `tracking=` in it.

W&B takes nearly all of its settings from variables. The command decides on the content and the place of runs. Variables
that would change these, or that stop W&B from writing files, are hidden from it. Variables for its server and its user
are heeded, and may be the reason if it fails.
"""

import configparser
import contextlib
import netrc
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from plasticity_lab.errors import ConfigError
from plasticity_lab.process.account import expanded, settle_account
from plasticity_lab.records.settings import TrackingSettings

PREFIX = "WANDB_"
HEEDED = frozenset(
    f"{PREFIX}{name}"
    for name in (
        "API_KEY APP_URL BASE_URL CACHE_DIR CONFIG_DIR CREDENTIALS_FILE CORE_DEBUG DATA_DIR DEBUG ENTITY "
        "ERROR_REPORTING HOST HTTP_PROXY HTTPS_PROXY IDENTITY_TOKEN_FILE INSECURE_DISABLE_SSL JOB_TYPE NOTES "
        "ORGANIZATION SILENT USER_EMAIL USERNAME X_EXTRA_HTTP_HEADERS X_PROXIES"
    ).split()
)
PARTS = ("TIMEOUT", "RETRY", "WAIT")
"""Parts of the names of further heeded variables: how long W&B waits, and how often it tries."""
OF_THE_NETWORK = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "NETRC")
"""Variables of other programs that W&B reads too; proxies also in small letters."""
CLOUD = "https://api.forge.coreweave.com"
"""W&B's own server, unless settings name another."""
EARLIER = "api.wandb.ai"
"""The host of W&B's server before wandb 0.31: a key that `wandb login` stored for it is still valid."""
HOW_TO_CONFIGURE = "`wandb login` stores one, or the environment variable WANDB_API_KEY gives one"
SILENT = "WANDB_SILENT"
"""Set by the laboratory itself."""
_FORBIDDEN = "/\\#?%:"
"""Characters that W&B does not allow in the name of a project."""


def is_heeded(name: str) -> bool:
    """Whether W&B may see a variable that begins with PREFIX."""
    return name in HEEDED or any(part in name for part in PARTS)


@contextlib.contextmanager
def only_heeded() -> Iterator[None]:
    """Hides W&B's other variables, among them the address of its service."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(PREFIX) and not is_heeded(name)}
    try:
        yield
    finally:
        os.environ.update(kept)


def named() -> str:
    """« (W&B heeds WANDB_BASE_URL and NO_PROXY of the environment)», for messages about its failures; no values.

    Empty if no variable is set.
    """
    heeded = sorted(name for name in os.environ if name.startswith(PREFIX) and is_heeded(name) and name != SILENT)
    names = [*heeded, *sorted(name for name in os.environ if name.upper() in OF_THE_NETWORK)]
    if not names:
        return ""
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f" (W&B heeds {listed} of the environment)"


def in_a_line(error: Exception) -> str:
    """The message of a W&B error in a line; for a refused setting with its name and the reason."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if lines and "validation error" in lines[0]:
        return ": ".join(lines[:3])
    return lines[0] if lines else type(error).__name__


def require_key(what: str, instead: str = "") -> None:
    """Raises ConfigError if no key is configured.  what: the action that needs the key. instead: a way without it."""
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
