"""The groups of conf/ that a run is made of, as conf/groups.yaml declares them."""

from collections.abc import Mapping

from launch.runs.files import CONF, option_in
from plasticity_lab.records.settings import Strict, checked


class Group(Strict):
    """A group whose options name a class and its settings.

    base: what these classes are derived from. neutral: the option that stays out of the run id, so that a group added
    later changes no id of a run without it. auto: the key of the benchmark's file that says what the choice `auto`
    means. tagged: whether W&B's tags have the option's name.
    """

    base: str
    neutral: str | None = None
    auto: str | None = None
    tagged: bool = True


def _declared() -> dict[str, Group]:
    """The groups by name, in their order.  Raises ConfigError."""
    file = CONF / "groups.yaml"
    return {name: checked(Group, value, f"{file}: {name}.") for name, value in option_in(file).items()}


COMPONENTS: Mapping[str, Group] = _declared()
AUTO = {name: group.auto for name, group in COMPONENTS.items() if group.auto is not None}
"""Groups with the choice `auto`, and the key of the benchmark's file that says what it means."""
