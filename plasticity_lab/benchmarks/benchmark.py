"""The base class of all benchmarks, independent of the kind of task."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from plasticity_lab.component import Component


class Resource(Protocol):
    """The data or environments that a benchmark's tasks are built from. Loaded once per process, never changed."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """Entries for a record's provenance: "data", its name; "data_part", whether only part of the data is
        present.
        """
        ...

    @property
    def packages(self) -> Sequence[str]:
        """Further Python packages that a run with it needs. Results may differ between their versions."""
        ...


AnyResource = TypeVar("AnyResource", bound=Resource)


class Benchmark(Component, Generic[AnyResource]):
    """A sequence of tasks. A base class for each kind of task defines the tasks; final classes define the sequence.

    The first tasks must not depend on the number of tasks.
    """

    tasks_are: ClassVar[str] = "tasks of an unnamed kind"
    """The kind of tasks in words, for messages, as in "labelled images"."""

    tasks: int
    """Number of tasks."""

    source: str
    """The name of the tasks' resource: benchmarks of one kind with the same source share one `resource`."""

    def resource(self, folder: Path) -> AnyResource:
        """Loads the resource of the tasks from the folder of data sets.

        Raises DataError for files that are missing or damaged, ConfigError for a source that does not exist.
        """
        raise NotImplementedError

    def data_subfolder(self) -> str:
        """The subfolder of the folder of data sets with the resource's files; "" if it needs none.

        Raises ConfigError for a source that does not exist.
        """
        return ""

    def outline(self) -> AnyResource | None:
        """A resource of the same shape and size, built without files, for planning. None if `resource` needs no files.

        Raises ConfigError for a source that does not exist.
        """
        return None

    def verified(self, folder: Path) -> str:
        """A line that states the resource's location, its size and the checks that were made.

        Raises the same errors as `resource`.
        """
        raise NotImplementedError
