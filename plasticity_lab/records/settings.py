"""How the runs of one command are computed: one typed object from the command line to the workers and to `resume`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from plasticity_lab.errors import ConfigError

_WORDS = {
    "a valid integer": "a whole number",
    "greater than or equal to": "at least",
    "greater than": "above",
    "a valid boolean": "true or false",
}
Checked = TypeVar("Checked", bound=BaseModel)


class Strict(BaseModel):
    """Keys and values of exactly the declared names and types, never changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LaunchSettings(Strict):
    """How many workers share the work, and how long one may be silent before its pack is taken from it.

    retries: how often a run that failed is planned again when its command, or `resume`, is given.

    wait: whether a command that has submitted its workers to a cluster stays until they have ended.
    """

    workers: int | None = Field(ge=1)
    wait: bool
    lease_seconds: float = Field(gt=0)
    # Sweeps that were submitted before there was this setting are resumed with it.
    retries: int = Field(ge=0, default=2)


class TrackingSettings(Strict):
    """Where else than in the store runs are to be seen; `entity` null is the default one of the key's owner."""

    backend: Literal["auto", "store", "wandb_offline", "wandb_online"]
    project: str
    entity: str | None
    # W&B's service holds three files open for each, and loses without a word those that it cannot open.
    live_runs: int = Field(ge=0, le=64)


class Settings(Strict):
    """What one command sets once for all its runs; none of it changes a run's numbers."""

    store: Annotated[Path, Field(strict=False)]
    data: Annotated[Path | None, Field(strict=False)]
    device: str = Field(pattern=r"^(auto|cpu|cuda|cuda:\d+)$")
    mode: Literal["auto", "eager", "compiled"]
    dry_run: bool
    rerun: bool
    save_weights: Literal["none", "final"]
    checkpoint_minutes: float = Field(gt=0)
    launch: LaunchSettings
    tracking: TrackingSettings


def of_first_plans(values: Mapping[str, Any], store: Path) -> dict[str, Any]:
    """The settings that a plan of format 1 stands for: it held what workers read, and not yet where they should run."""
    return {
        "store": store,
        "data": values["data"],
        "device": "auto",
        "mode": "auto",
        "dry_run": False,
        "rerun": values.get("rerun", False),
        "save_weights": values["save_weights"],
        "checkpoint_minutes": values["checkpoint_minutes"],
        "launch": {
            "workers": None,
            "wait": False,
            "lease_seconds": values["lease_seconds"],
            # The first plans of all set no limit.
            "retries": values.get("retries", 1_000_000),
        },
        "tracking": values.get("tracking") or {"backend": "store", "project": "", "entity": None, "live_runs": 0},
    }


def checked(model: type[Checked], values: Mapping[str, Any], where: str = "") -> Checked:
    """The values as the model declares them.  Raises ConfigError, `where` before the key of the first that is wrong."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        key = where + ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            raise ConfigError(f"{key} is no setting; there are {', '.join(model.model_fields)}.") from error
        if first["type"] == "string_pattern_mismatch":
            raise ConfigError(f"{key} is {first['input']!r}; it must be auto, cpu, cuda or cuda:<number>.") from error
        wanted = first["msg"].removeprefix("Input should be ").replace("'", "")
        for theirs, ours in _WORDS.items():
            wanted = wanted.replace(theirs, ours)
        several = " (several values are written one,other without brackets)" if isinstance(first["input"], list) else ""
        raise ConfigError(f"{key} is {first['input']!r}; it must be {wanted}{several}.") from error
