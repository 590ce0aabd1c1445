"""An agent that acts between its updates, planted on a search path as a user's own would be: planned, never trained."""

from pathlib import Path

from plasticity_lab.agents.cost import Cost, Share
from plasticity_lab.agents.supervised.agent import Supervised
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
        )


def planted(folder: Path) -> str:
    """Makes the choice agent=acting in a folder; the word that finds it."""
    file = folder / "planted" / "agent" / "acting.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("_target_: tests.helpers.acting.Acting\nsteps: 12000\nmemory: 1048576\n")
    return f"hydra.searchpath=[file://{file.parents[1]}]"
