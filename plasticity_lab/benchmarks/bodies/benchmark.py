"""Benchmarks of bodies in environments: in each task an agent controls one of them for a number of steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plasticity_lab.benchmarks.benchmark import Benchmark
from plasticity_lab.component import check
from plasticity_lab.environments.bodies import body_named
from plasticity_lab.environments.body import Body
from plasticity_lab.errors import ConfigError, DataError


@dataclass(frozen=True)
class Bodies:
    """What the tasks are made of: the bodies by name, in the order in which they first come."""

    by_name: Mapping[str, Body]

    @property
    def facts(self) -> dict[str, Any]:
        """Their names and versions, as a record's provenance says them."""
        words = [f"{body.name} {body.version}" for body in self.by_name.values()]
        return {"data": ", ".join(words), "data_part": False}

    @property
    def packages(self) -> list[str]:
        """The Python packages that they are made of."""
        return list(dict.fromkeys(package for body in self.by_name.values() for package in body.packages))


class BodyCycle(Benchmark):
    """The bodies in turn, over and over, until `tasks` tasks have been learned; each for `environment_steps` steps.

    environment_steps: of all environments of a run together; an agent rounds them up to whole rollouts. Where tasks are
    more than bodies, a body comes again in a later cycle, as Section 7 has it.
    """

    tasks_are = "bodies in environments"

    def __init__(self, bodies: list[str], tasks: int, environment_steps: int) -> None:
        if not bodies:
            raise ConfigError("benchmark.bodies is empty; it must name at least one body.")
        for name in bodies:
            body_named(name)
        self.bodies = bodies
        self.source = ",".join(bodies)
        self.tasks = check("benchmark.tasks", tasks, at_least=1)
        self.environment_steps = check("benchmark.environment_steps", environment_steps, at_least=1)

    def resource(self, folder: Path) -> Bodies:
        """Its bodies; they need no files.  Raises DataError where a package that they are made of is not installed."""
        bodies = self.outline()
        for body in bodies.by_name.values():
            if body.missing:
                raise DataError(
                    f"The body {body.name} needs {' and '.join(body.missing)}, which cannot be found here: "
                    "pip install 'gymnasium[mujoco]', or choose a body that needs none, such as cartpole."
                )
        return bodies

    def outline(self) -> Bodies:
        """The same, whether or not the packages that they are made of are installed here."""
        return Bodies({name: body_named(name) for name in self.bodies})

    def verified(self, folder: Path) -> str:
        """Which bodies they are."""
        return f"bodies: {self.resource(folder).facts['data']}, which need no files."

    def body_of(self, position: int) -> str:
        """The name of the body of the task at that position."""
        return self.bodies[position % len(self.bodies)]

    def cycle_of(self, position: int) -> int:
        """How often that body has come before."""
        return position // len(self.bodies)
