"""Packs of agents, trained by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from plasticity_lab.assembly import agent_of, assembled, resources
from plasticity_lab.records.bulk import as_tensors, filled_from
from plasticity_lab.records.journal import Journal
from plasticity_lab.run import Run
from plasticity_lab.trainer import train
from tests.helpers.packs import CPU, Interrupted, Keeper, restored, saved
from tests.helpers.sweeps import runs_of

FIND = f"hydra.searchpath=[file://{Path(__file__).parent / 'conf'}]"
BODIES = (
    *(FIND, "agent=actor_critic", "network=mlp"),
    *("benchmark=classic_cycle", "benchmark.environment_steps=256", "benchmark.tasks=2"),
)
RESETS = ("intervention=redo", "intervention.every=3", "intervention.strength=0.6")


def packs_of(*words: str) -> list[Run]:
    """The runs of a command, which share a pack."""
    return list(runs_of(*words))


def trained(
    runs: Sequence[Run], *, compiled: bool = False, kernels: bool = False, stops: Sequence[int] = (),
    device: torch.device = CPU,
) -> list[dict[str, bytes]]:  # fmt: skip
    """Every number of each run of a pack: its metrics, its weights, and those of a target network if it has one.

    stops: looks at which it is stopped and resumed.
    """
    journal = Journal(len(runs), agent_of(runs[0]).measures)
    find, kept = resources(Path()), None
    for looks in [*stops, None]:
        stream, learner = assembled(runs, find(runs[0]), device, compiled, kernels=kernels)
        if kept is not None:
            state = restored(kept)
            learner.load(state["learner"], filled_from(learner.bulk(), state["bulk"]))
            journal = Journal(len(runs), agent_of(runs[0]).measures)
            journal.load(state["journal"])
        try:
            train(stream, learner, journal, Keeper(looks))
        except Interrupted:
            kept = saved({"learner": learner.state(), "bulk": as_tensors(learner.bulk()), "journal": journal.state()})
        else:
            assert looks is None, "the pack ended before it was stopped"
    target = learner.state().get("target", {"parameters": {}})["parameters"]
    weights = learner.weights() | {f"target {name}": value for name, value in target.items()}
    return [_numbers(journal, weights, k) for k in range(len(runs))]


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """The names under which two runs' numbers are not the same bits."""
    assert one.keys() == other.keys()
    return [name for name in one if one[name] != other[name]]


def hold(*words: str, stops: Sequence[int] = (), **how: Any) -> list[dict[str, bytes]]:
    """The numbers of a command's runs in a pack: the same bits for the second run alone, and for all resumed."""
    pack = packs_of(*words)
    packed = trained(pack, **how)
    assert len({each["metrics"] for each in packed}) == len(pack)
    assert not differing(packed[1], trained(pack[1:2], **how)[0]), "alone"
    resumed = trained(pack, stops=stops, **how) if stops else packed
    assert not [name for k in range(len(pack)) for name in differing(packed[k], resumed[k])], "resumed"
    return packed


def hold_compiled(widths: Sequence[int], *words: str, stops: Sequence[int] = (), **how: Any) -> None:
    """A command's run has the same bits alone, in packs of these widths, and resumed in one of three."""
    runs, how = packs_of(*words, f"seed=range({max(widths)})"), {"compiled": True, **how}
    alone = trained(runs[:1], **how)[0]
    for width in widths:
        assert not differing(alone, trained(runs[:width], **how)[0]), f"in a pack of {width}"
    if stops:
        assert not differing(alone, trained(runs[:3], stops=stops, **how)[0]), "resumed"


def _numbers(journal: Journal, weights: dict[str, torch.Tensor], k: int) -> dict[str, bytes]:
    table: Any = journal.table(k)
    metrics = repr([column.to_pylist() for column in table.columns]).encode()
    return {"metrics": metrics} | {name: value[k].cpu().numpy().tobytes() for name, value in weights.items()}
