"""An agent that acts between its updates, planted on a search path as a user's own would be: planned, never trained."""

from pathlib import Path

from plasticity_lab.agents.acting.objections import not_discrete
from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.agents.supervised.agent import Supervised
from plasticity_lab.benchmarks.bodies.base import BodyBenchmark
from plasticity_lab.benchmarks.bodies.benchmark import BodyCycle
from plasticity_lab.component import check

GAME = "made-up game"


class Acting(Supervised):
    """It learns what the supervised agent does; its cost is that of one with environments and a memory of replay.

    A number of environment steps makes two updates and a pass without one for each.
    """

    def __init__(self, steps: int, memory: int) -> None:
        self.steps = check("agent.steps", steps, at_least=1)
        self.memory = check("agent.memory", memory, at_least=0)

    def cost(self, parts, resource):
        return Cost(
            length=self.steps,
            unit="environment steps",
            updates=2 * self.steps,
            flops=1_000_000,
            memory=[Share(2**20, "its network", "a smaller network.width")],
            speed="acting",
            rows=100,
            parameters=1_000,
            host_memory=[Share(self.memory, "its memory of replay", "a smaller agent.memory")],
            forwards=self.steps,
            forward_flops=1_000,
            host_steps={GAME: self.steps},
            bulk_bytes=self.memory,
        )


class Balancing(Acting):
    """The same for bodies."""

    learns = BodyCycle


class Choosing(Acting):
    """The same for bodies whose actions are choices."""

    learns = BodyBenchmark
    objects_to = frozenset({"benchmark"})

    def objection(self, others):
        return not_discrete(others.one("benchmark", BodyBenchmark))


CHOICES = {
    "agent/choosing": "_target_: tests.helpers.acting.Choosing\nsteps: 12000\nmemory: 1048576\n",
    "agent/acting": "_target_: tests.helpers.acting.Acting\nsteps: 12000\nmemory: 1048576\n",
    "agent/balancing": "_target_: tests.helpers.acting.Balancing\nsteps: 12000\nmemory: 1048576\n",
    "benchmark/one_body": "_target_: plasticity_lab.benchmarks.bodies.benchmark.BodyCycle\n"
    "bodies: [cartpole]\ntasks: 1\nenvironment_steps: 100\ndefault_network: mlp\n",
}


def planted(folder: Path, *names: str) -> str:
    """Makes choices in a folder, agent=acting where none is named; the word that finds them."""
    for name in names or ("agent/acting",):
        file = folder / "planted" / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(CHOICES[name])
    return f"hydra.searchpath=[file://{folder / 'planted'}]"
