"""What users do: the same command twice at once, an overlapping one, Ctrl-C's harder sister, `resume`, `cancel`."""

import time

from launch.packs.lease_files import LeaseFiles
from tests.launch.launchers.slurm.chaos.scene import Scene

OBEYED_SECONDS = 15.0
"""After the word of `cancel` no worker of the sweep may train, unless it has said which does."""
PART = "seed=0,1"
"""An overlapping sweep has these seeds only."""


def again(scene: Scene) -> bool:
    """The same command."""
    scene.submit()
    return True


def twice(scene: Scene) -> bool:
    """The same command twice at once."""
    scene.submit()
    scene.submit()
    return True


def overlap(scene: Scene) -> bool:
    """A command that asks for a part of the runs."""
    scene.submit(PART)
    return True


def submit_killed(scene: Scene) -> bool:
    """The command, killed at a random moment."""
    process = scene.submit()
    scene.later(scene.draw.uniform(0.5, 15.0), process.kill)
    return True


def resume(scene: Scene) -> bool:
    """`resume`."""
    scene.give("launch", "resume", scene.sweeps()[0], "--store", str(scene.store.root))
    return True


def cancel(scene: Scene) -> bool:
    """`cancel`; it is looked whether that was obeyed, and then the command is given again."""
    sweep = scene.sweeps()[0]
    before = set(scene.arrays(sweep))

    def ended(status: int, said: str) -> None:
        word = time.monotonic()

        def look() -> None:
            for pack, job in _still(scene, before).items():
                if job not in said and pack not in said:
                    late = time.monotonic() - word
                    scene.disobeyed.append(f"{job} holds {pack} {late:.0f} s after `cancel` ({status}): {said.strip()}")
            scene.submit()

        scene.later(OBEYED_SECONDS, look)

    scene.give("launch", "cancel", sweep, "--store", str(scene.store.root), then=ended)
    return True


def _still(scene: Scene, arrays: set[str]) -> dict[str, str]:
    """Pack → job, of those that these arrays hold and have touched since the word."""
    packs = {name.rpartition(".")[0] for name in scene.lease_names()}
    states = LeaseFiles(scene.store).states(packs, scene.lease_seconds)
    return {
        pack: f"{state.owner.job}_{state.owner.task}"
        for pack, state in states.items()
        if state.held and state.owner and state.owner.job in arrays and (state.age or 0.0) < OBEYED_SECONDS / 2
    }
