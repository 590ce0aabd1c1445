"""The variables of the environment that W&B reads: those that are heeded here, and naming them where W&B fails.

W&B takes nearly every one of its settings from a variable. What runs are, and where they are written, is said by the
command: variables that would change that, or that keep W&B from writing files, are kept from it. Those by which W&B
reaches its server and knows its user are heeded, and may be why it fails.
"""

import contextlib
import os
from collections.abc import Iterator

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
"""Parts of the names of further ones: how long W&B waits, and how often it tries."""
OF_THE_NETWORK = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "NETRC")
"""Those of other programs that W&B reads too; proxies also in small letters."""
_SET_HERE = ("WANDB_SILENT",)


def is_heeded(name: str) -> bool:
    """Whether W&B is to see a variable of its own."""
    return name in HEEDED or any(part in name for part in PARTS)


@contextlib.contextmanager
def only_heeded() -> Iterator[None]:
    """While this lasts, W&B's other variables are not there, its own service's address among them."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(PREFIX) and not is_heeded(name)}
    try:
        yield
    finally:
        os.environ.update(kept)


def named() -> str:
    """« (W&B heeds WANDB_BASE_URL and NO_PROXY of the environment)», for sentences that say that it failed; no values.

    Empty where nothing is set.
    """
    own = sorted(name for name in os.environ if name.startswith(PREFIX) and is_heeded(name) and name not in _SET_HERE)
    others = sorted(name for name in os.environ if name.upper() in OF_THE_NETWORK)
    there = [*own, *others]
    if not there:
        return ""
    listed = " and ".join(filter(None, [", ".join(there[:-1]), there[-1]]))
    return f" (W&B heeds {listed} of the environment)"
