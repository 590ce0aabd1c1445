"""How the runs of one command are computed: one typed object from the command line to the workers and to `resume`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from plasticity_lab.component import as_typed
from plasticity_lab.errors import ConfigError

_WORDS = {
    "greater than or equal to": "at least",
    "greater than": "above",
    "less than or equal to": "at most",
    "less than": "below",
}
_WANTED = {
    "bool_type": "true or false",
    "dict_type": "keys and values",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "keys and values",
    "path_type": "the name of a folder",
    "string_pattern_mismatch": "auto, cpu, cuda or cuda:<number>",
    "string_type": "a word",
    "too_short": "a list of at least one value",
}
"""What is wanted, in our words, by the name that pydantic gives a mistake; others name in theirs what is allowed."""
Checked = TypeVar("Checked", bound=BaseModel)


class Strict(BaseModel):
    """Keys and values of exactly the declared names and types, never changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LaunchSettings(Strict):
    """How many workers share the work, and how long one may be silent before its pack is taken from it.

    retries: how often a run that failed is planned again when its command, or `resume`, is given.

    processes: how many step the environments of a worker's pack, the worker among them; None: as is faster on the cores
    that no worker needs.

    wait: whether a command that has submitted its workers to a cluster stays until they have ended.
    """

    workers: int | None = Field(ge=1)
    wait: bool
    lease_seconds: float = Field(gt=0, allow_inf_nan=False)
    # Sweeps that were submitted before there was this setting are resumed with it.
    retries: int = Field(ge=0, default=2)
    processes: int | None = Field(ge=1, default=None)


class TrackingSettings(Strict):
    """Where else than in the store runs are to be seen; `entity` null is the default one of the key's owner."""

    backend: Literal["auto", "store", "wandb_offline", "wandb_online"]
    project: str
    entity: str | None
    # W&B's service holds three files open for each, and loses without a word those that it cannot open.
    live_runs: int = Field(ge=0, le=64)


class StopRule(Strict):
    """Stops a run that does worse than others did.

    metric: a name of its summary, as it is after the tasks so far. tasks: after which it is looked at, by their
    positions. values: at each of them, that than which it must not be worse.
    """

    metric: str
    better: Literal["more", "less"]
    tasks: list[int]
    values: list[float]


class Settings(Strict):
    """What one command sets once for all its runs; none of it changes a run's numbers.

    save_weights_every: of `save_weights=tasks`, at the end of each so-manieth task.

    replay_memory_mib: replay memories that are smaller, those of all runs of a pack together, are in every checkpoint;
    others have files of their own. replay_memory_minutes: these are written when this many minutes of training would be
    lost, and when a worker is stopped; None: then only.

    stopping: of a batch of a search, run → the rule that stops it early, of those that have one; runs that were stopped
    have ended then. None: nothing is stopped, and what was is trained to its end.
    """

    store: Annotated[Path, Field(strict=False)]
    data: Annotated[Path | None, Field(strict=False)]
    device: str = Field(pattern=r"^(auto|cpu|cuda|cuda:\d+)$")
    mode: Literal["auto", "eager", "compiled", "kernels"]
    dry_run: bool
    rerun: bool
    save_weights: Literal["none", "final", "tasks"]
    checkpoint_minutes: float = Field(gt=0, allow_inf_nan=False)
    # Plans of earlier versions do not have these.
    plan_only: bool = False
    save_weights_every: int = Field(ge=1, default=1)
    replay_memory_mib: float = Field(ge=0, allow_inf_nan=False, default=64.0)
    replay_memory_minutes: float | None = Field(ge=0, allow_inf_nan=False, default=30.0)
    stopping: dict[str, StopRule] | None = None
    launch: LaunchSettings
    tracking: TrackingSettings


def checked(model: type[Checked], values: Mapping[str, Any], where: str = "") -> Checked:
    """The values as the model declares them.  Raises ConfigError, `where` before the key of the first that is wrong.

    where: "group=name: " for the content of a file, "group." for what is typed.
    """
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        key = where + ".".join(str(part) for part in first["loc"] if part != "[key]")
        if first["type"] in ("extra_forbidden", "invalid_key"):
            known = _nested(model, first["loc"][:-1]).model_fields
            raise ConfigError(f"{key} is no setting; there are {', '.join(known)}.") from error
        if first["type"] == "missing":
            raise ConfigError(f"{key} is missing.") from error
        wanted = _WANTED.get(first["type"]) or first["msg"].removeprefix("Input should be ").replace("'", "")
        for theirs, ours in _WORDS.items():
            wanted = wanted.replace(theirs, ours)
        one_wanted = isinstance(first["input"], list) and first["type"] != "too_short" and not where.endswith(" ")
        several = " (several values are written one,other without brackets)" if one_wanted else ""
        raise ConfigError(f"{key} is {as_typed(first['input'])}; it must be {wanted}{several}.") from error


def _nested(model: type[BaseModel], loc: Sequence[Any]) -> type[BaseModel]:
    """The model that a place in another one is declared as; the other one itself where it is declared otherwise."""
    for name in loc:
        field = model.model_fields.get(name)
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            break
        model = field.annotation
    return model
