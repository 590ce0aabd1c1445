"""The groups of conf/ that a run is made of, as conf/groups.yaml declares them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from launch.runs.files import CONF, option_in
from plasticity_lab.records.settings import Strict, checked
from plasticity_lab.run import JOINED


class Group(Strict):
    """A group whose options name a class and its settings.

    base: what these classes are derived from. neutral: the option that stays out of the run id, so that a group added
    later changes no id of a run without it. auto: the key of the benchmark's file that says what the choice `auto`
    means. tagged: whether W&B's tags have the option's name. several: whether a list of options can be chosen; the
    neutral one and `auto` stand alone. science: whether the group can change a run's numbers; one that cannot is no
    part of the id, and of all runs of a command the same.
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
"""Groups with the choice `auto`, and the key of the benchmark's file that says what it means."""
SCIENCE = [name for name, group in COMPONENTS.items() if group.science]
"""The groups that can change a run's numbers."""
