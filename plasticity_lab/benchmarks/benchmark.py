"""What a benchmark is, whatever its tasks are made of."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from plasticity_lab.component import Component


class Resource(Protocol):
    """What a benchmark's tasks are made of: a set of images, environment bodies. Read once a process, never changed."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What a record's provenance says of it: "data", its name; "data_part", whether only a part of it is there."""
        ...

    @property
    def packages(self) -> Sequence[str]:
        """Python packages that a run of it needs besides ours, by whose versions its numbers may differ."""
        ...


AnyResource = TypeVar("AnyResource", bound=Resource)


class Benchmark(Component, Generic[AnyResource]):
    """A sequence of tasks. A base class for each kind of task says what they are; final classes say which follow.

    Its first tasks must be the same however many it has.
    """

    tasks_are: ClassVar[str] = "of a kind without a name"
    """In words, for messages: "labelled images"."""

    tasks: int
    """How many."""

    source: str
    """The name of what its tasks are made of: benchmarks of one kind with the same source share one `resource`."""

    def resource(self, folder: Path) -> AnyResource:
        """What its tasks are made of, looked for in the folder of data sets.

        Raises DataError for files that are missing or damaged, ConfigError for a source that does not exist.
        """
        raise NotImplementedError

    def data_subfolder(self) -> str:
        """The subfolder of the folder of data sets that has the files of its resource; "" if it needs none.

        Raises ConfigError for a source that does not exist.
        """
        return ""

    def outline(self) -> AnyResource | None:
        """The same in shape and number, without its files: enough to plan with. None where `resource` needs no files.

        Raises ConfigError for a source that does not exist.
        """
        return None

    def verified(self, folder: Path) -> str:
        """A line that says where the resource is, how much of it, and what was checked.

        Raises as `resource`.
        """
        raise NotImplementedError
