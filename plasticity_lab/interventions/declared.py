"""The declarations of an intervention: the data that it reads, its work, and its price."""

from collections.abc import Sequence
from typing import ClassVar

from plasticity_lab.component import Component
from plasticity_lab.others import Others
from plasticity_lab.records.measures import Column


class Declared(Component):
    """The declarations of an `Intervention`, with their defaults. A subclass overrides those that it needs.

    Agents, plans and checks read them. An object may set them too, if they follow from its structure.
    """

    watches_units: bool = False
    """Whether it reads `now.hidden`: then the update hands over the activations."""

    watches_outputs: bool = False
    """Whether its `penalty` reads `now.x`, `now.outputs`, `now.hidden`, `now.forward`, `now.loss` and
    `now.divergence`. A class that requires a second batch declares this too."""

    learned: Sequence[str] = ()
    """Entries of its state that the run's optimizer trains, by the gradient of the penalty. They are no parameters of
    the network. Their moments are entries "<moment> of <entry>" of the state."""

    requires: frozenset[str] = frozenset()
    """The data that the agent must provide besides the network (`Agent.provides`). Other agents are refused."""

    needs_step: bool = False
    """Whether it reads `now.optimizer` and `now.step`. The update then keeps two copies more of the parameters."""

    needs_before: bool = False
    """Whether its `after_step` reads `now.before`. The update then copies the parameters before the optimizer."""

    forwards: int = 0
    """Forward passes of a batch that its penalty makes in each update, for estimates of time. A pass with a gradient
    counts as three."""

    operations: int = 0
    """The time of its `penalty` and `after_step` in operations of matrix products for each parameter, for estimates."""

    copies: int = 1
    """Its memory (state and temporary tensors), as a multiple of the memory of all parameters."""

    numbers: int = 0
    """Float32 numbers of one run in its state that do not grow with the network, for estimates of memory."""

    holds: bool = True
    """Whether its method `held` says all that it does within updates. An object may say no, for its settings."""

    restarts_agent: bool = False
    """Whether everything else that an agent has learned (moments, statistics) is reset with each task too. The agent
    does so before `before_task`. Its memory of data stays."""

    leaves_parameters: bool = False
    """Whether its methods change no parameter in place. If none is defined but `penalty`, this is known."""

    between_tasks: bool = False
    """Whether it does nothing before the end of the first task. If so, a run with one task equals a plain run."""

    every: int | None = None
    """Number of updates between calls of `every_n_updates`; None: never called. Structure: equal within a pack."""

    unit_kind: ClassVar[str | None] = None
    """The kind of units (`Unit.kind`) that it works on. For expert, heads without experts are refused."""

    needs_experts: int = 0
    """The smallest number of experts of a head with experts. Structure."""

    prunes: int = 0
    """The number of experts that it closes. If it is not 0, routers have a parameter for each expert. Structure."""

    columns: ClassVar[Sequence[Column]] = ()
    """The columns of `measured`: columns of metrics.parquet in the rows of tasks, taken as a "value"."""

    floats_on_run_axis = True
    objects_to = frozenset({"head"})


def restarts(others: Others) -> bool:
    """Whether another intervention of the run restarts everything else with each task (`restarts_agent`)."""
    return "intervention" in others and any(each.restarts_agent for each in others.each("intervention", Declared))
