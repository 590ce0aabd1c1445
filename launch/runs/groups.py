"""The groups of conf/ that a run is made of, as conf/groups.yaml declares them, and the content of their files."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model

from launch.runs.files import CONF, option_in
from plasticity_lab.records.settings import Strict, checked
from plasticity_lab.run import JOINED


class Group(Strict):
    """A group of conf/; each of its options names a class and the settings of the class.

    base: the base class of all these classes. neutral: the option that is left out of the run id. So a group added
    later changes no existing id. auto: the key of the benchmark's file that defines the choice `auto`. tagged: whether
    W&B's tags have the option's name. several: whether a list of options can be chosen; the neutral option and `auto`
    cannot be in it. science: whether the group can change a run's numbers. If it cannot, it is no part of the id, and
    all runs of a command have the same option.
    """

    base: str
    neutral: str | None = None
    auto: str | None = None
    tagged: bool = True
    several: bool = False
    science: bool = True

    def names_in(self, choice: str) -> list[str]:
        """The options that a choice names: l2_init and redo, of `l2_init+redo`."""
        return choice.split(JOINED) if self.several else [choice]


def _declared() -> dict[str, Group]:
    """The groups by name, in their order.  Raises ConfigError."""
    file = CONF / "groups.yaml"
    return {name: checked(Group, value, f"{file}: {name}.") for name, value in option_in(file).items()}


def alone_in(group: str) -> list[str]:
    """The choices of a group that cannot be made together with others."""
    declared = COMPONENTS[group]
    return [name for name in (declared.neutral, "auto" if declared.auto else None) if name is not None]


COMPONENTS: Mapping[str, Group] = _declared()
if TYPE_CHECKING:  # no type checker reads conf/groups.yaml
    GroupName = str
else:
    GroupName = Literal[tuple(COMPONENTS)]
AUTO = {name: group.auto for name, group in COMPONENTS.items() if group.auto is not None}
"""Groups with the choice `auto` → the key of the benchmark's file that gives its meaning."""
SCIENCE = [name for name, group in COMPONENTS.items() if group.science]
"""The groups that can change a run's numbers."""
DIAGNOSTICS, ASSAY = "diagnostics", "assay"


class Extras(Strict):
    """The content of an option's file in addition to its class's settings: empty, unless its group has a model here."""


class Activation(Extras):
    """grids: the named grids of `hyperparams=grid`; `values.grids` reads their values."""

    grids: dict[str, Any] | None = None


class Intervention(Extras):
    """strengths: the strengths that `hyperparams=grid` tries, one after another.

    If an intervention's published table has no row for a place, `hyperparams=best` takes the middle one.
    """

    strengths: list[float] | None = Field(default=None, min_length=1)


class Diagnostic(Extras):
    """members: the options of a set, or further sets. Each member that has a setting of the set gets its value."""

    members: list[str] | None = Field(default=None, min_length=1)


class Beside(Extras):
    """default_settings: default values of other choices when this one is made: group → option → setting → value.

    A learning rate that suits one agent does not suit another.
    """

    default_settings: dict[GroupName, dict[str, dict[str, Any]]] = Field(default_factory=dict)


class BenchmarkAlone(Beside):
    """Keys of the benchmark's file that rules read.

    stand_in: another benchmark; its published values are used if this one has none. default_grid: the grid of
    `hyperparams=grid`.
    """

    stand_in: str | None = None
    default_grid: str | None = None


_AUTO: dict[str, Any] = {key: (str | None, None) for key in AUTO.values()}
Benchmark = create_model("Benchmark", __base__=BenchmarkAlone, **_AUTO)
"""The keys of a benchmark's file, with the meaning of `auto` in other groups: `default_network`, …"""


class Grid(Extras):
    """Learning rates, tried with the shapes that activations list.

    shapes: the name of these lists in the activations' files; null: the name of the grid. unite: a published table with
    more shapes.
    """

    shapes: str | None = None
    learning_rates: list[Annotated[float, Field(gt=0)]] = Field(min_length=1)
    unite: str | None = None


class GridWithIntervention(Extras):
    """Runs with an intervention: its strengths × learning rates, at one shape of each activation.

    look_up: the published tables with that shape. learning_rates: tried in addition to the grid's. unite: a published
    table of rates and strengths; its row is tried too.
    """

    look_up: str | list[str]
    learning_rates: list[Annotated[float, Field(gt=0)]] = Field(min_length=1)
    unite: str | None = None


class Hyperparams(Extras):
    """The source of shape parameters and learning rates; if no key is set, the options' own files.

    look_up: one or several tables of published values, each a file of conf/published/ or an absolute path. grids: the
    named grids. grid: the one to use; None: the benchmark's `default_grid`. optimizers: the optimizers that get the
    learning rates; the others keep their defaults. None: all get them. metric: selects the best runs of a store: the
    name of a summary with a better direction, or `headline` for the agent's main metric. with_intervention: a table of
    the rates and strengths of runs with an intervention. grid_with_intervention: the grid of these runs.

    trials: the number of settings that a search tries for each combination of choices, to find the best `metric`.
    sampler, sampler_seed: propose the trials. batch: the number of trials trained at once; None: as many as a pack is
    wide, or one per worker. early_stopping: whether to stop runs that do worse than the median of earlier ones.
    """

    look_up: str | list[str] | None = None
    optimizers: list[str] | None = None
    grids: dict[str, Grid] | None = None
    grid: str | None = None
    metric: str | None = None
    with_intervention: str | None = None
    grid_with_intervention: GridWithIntervention | None = None
    trials: int | None = Field(ge=1, default=None)
    sampler: Literal["tpe", "random"] = "tpe"
    sampler_seed: int = Field(ge=0, default=0)
    batch: int | None = Field(ge=1, default=None)
    early_stopping: Literal["median", "none"] = "median"


class Protocol(Extras):
    """set: values of components, group → setting → value, put in wherever a component has the setting."""

    set: dict[GroupName, dict[str, Any]] = Field(default_factory=dict)


class Schedule(Extras):
    """at_most: caps on the benchmark's tasks, epochs and steps, and on settings that classes of other groups declare
    (`Component.capped`).
    """

    at_most: dict[str, int] = Field(default_factory=dict)


RULES: dict[str, type[Extras]] = {"hyperparams": Hyperparams, "protocol": Protocol, "schedule": Schedule}
"""The groups with options that name the sources of settings → the content of their files."""

EXTRAS: dict[str, type[Extras]] = {
    "activation": Activation,
    "agent": Beside,
    "benchmark": Benchmark,
    DIAGNOSTICS: Diagnostic,
    "intervention": Intervention,
}
"""Group of components → the content of a file in addition to settings; it is no part of the science."""

OF_SEARCH = ("trials", "sampler", "sampler_seed", "batch", "early_stopping")
ADJUSTABLE = {
    "hyperparams.grid": "grids",
    "hyperparams.metric": "metric",
    **{f"hyperparams.{name}": "trials" for name in OF_SEARCH},
}
"""Keys of rules that a command can set → the key that an option's file needs for them to have an effect."""

GROUPS = (*COMPONENTS, *RULES)
"""All groups of a run's choices, except `experiment`, which names words and not settings."""
