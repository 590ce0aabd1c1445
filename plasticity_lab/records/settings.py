"""The settings of one command for computing its runs: one typed object for command line, workers and `resume`."""

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
"""The wanted value in our words, by pydantic's name of the error; for other errors its message is used."""
Checked = TypeVar("Checked", bound=BaseModel)


class Strict(BaseModel):
    """A model with exactly the declared keys and types, which never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LaunchSettings(Strict):
    """The number of workers that share the work, and the seconds of silence after which one loses its pack.

    retries: how many times a failed run is planned again when its command, or `resume`, is given.

    processes: the number of processes that step the environments of a worker's pack, including the worker; None: the
    fastest number for the cores that no worker needs.

    wait: whether a command that has submitted its workers to a cluster waits until they have ended.
    """

    workers: int | None = Field(ge=1)
    wait: bool
    lease_seconds: float = Field(gt=0, allow_inf_nan=False)
    # The default for resumed sweeps that are older than this setting.
    retries: int = Field(ge=0, default=2)
    processes: int | None = Field(ge=1, default=None)


class TrackingSettings(Strict):
    """Tracking of runs outside of the store; `entity` null is the default entity of the key's owner."""

    backend: Literal["auto", "store", "wandb_offline", "wandb_online"]
    project: str
    entity: str | None
    # W&B's service keeps three files open for each, and silently loses those that it cannot open.
    live_runs: int = Field(ge=0, le=64)


class StopRule(Strict):
    """Stops a run that is worse than others were.

    metric: a name of its summary, computed over the tasks so far. tasks: positions of the tasks after which it is
    compared. values: for each of them, the value that the metric must reach.
    """

    metric: str
    better: Literal["more", "less"]
    tasks: list[int]
    values: list[float]


class Settings(Strict):
    """The settings of one command for all its runs; they change no numbers of a run.

    save_weights_every: for `save_weights=tasks`, the number of tasks between saved weights.

    save_moments: whether they are kept with the optimizer's moments, for `assay.moments=kept`. assay_rows: how many
    inputs of a replay memory are kept with them, for assays; 0: the inputs that diagnostics measure.

    save_video: whether each run gets a film of a further test episode after its last task.

    replay_memory_mib: smaller replay memories (of all runs of a pack together) are in every checkpoint; larger ones
    have separate files. replay_memory_minutes: these are written when this many minutes of training would be lost, and
    when a worker is stopped; None: only then. replay_memory_compressed: whether frames in them are compressed.

    stopping: for a batch of a search, run → the rule that stops it early, if it has one; stopped runs count as ended.
    None: no run is stopped early, and stopped ones are trained to their end.
    """

    store: Annotated[Path, Field(strict=False)]
    data: Annotated[Path | None, Field(strict=False)]
    device: str = Field(pattern=r"^(auto|cpu|cuda|cuda:\d+)$")
    mode: Literal["auto", "eager", "compiled", "kernels"]
    dry_run: bool
    rerun: bool
    save_weights: Literal["none", "final", "tasks"]
    checkpoint_minutes: float = Field(gt=0, allow_inf_nan=False)
    # Plans of earlier versions lack these.
    plan_only: bool = False
    save_weights_every: int = Field(ge=1, default=1)
    save_moments: bool = False
    assay_rows: int = Field(ge=0, default=0)
    save_video: Literal["none", "last"] = "none"
    replay_memory_mib: float = Field(ge=0, allow_inf_nan=False, default=64.0)
    replay_memory_minutes: float | None = Field(ge=0, allow_inf_nan=False, default=30.0)
    replay_memory_compressed: Literal["auto", "always", "never"] = "auto"
    stopping: dict[str, StopRule] | None = None
    launch: LaunchSettings
    tracking: TrackingSettings


def checked(model: type[Checked], values: Mapping[str, Any], where: str = "") -> Checked:
    """The values as the model declares them.  Raises ConfigError for the first wrong value, `where` before its key.

    where: "group=name: " for the content of a file, "group." for words of a command.
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
    """The model at a location in another model; the last model on the way if the location holds none."""
    for name in loc:
        field = model.model_fields.get(name)
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            break
        model = field.annotation
    return model
