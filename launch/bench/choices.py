"""The choices of the bench's commands, and the files of their results; no torch, so --help is fast."""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plasticity_lab.agents.supervised.workload_settings import SETTINGS
from plasticity_lab.records.files import write_json
from plasticity_lab.records.provenance import provenance

MODES = ("eager", "compiled", "kernels")
PARTS = ("widths", "activations", "interventions", "records", "processes", "bodies", "values", "heads")
STANDING = "standing"
"""An environment that does not move: only the agent's own cost remains."""
MUJOCO = ("halfcheetah", "hopper", "walker2d", "ant", "humanoid")
BODIES = (*MUJOCO, STANDING)
"""The choices of the part `bodies`."""
VALUE_NETWORKS = ("small_impala", "nature", "impala")
"""The choices of the parts `values` and `heads`."""


@dataclass(frozen=True)
class Defaults:
    """Default choices for a kind of device; on a GPU they take ten minutes.

    ppo_widths: for the first of `bodies`. value_widths: by network. repeats: rounds.
    """

    parts: Sequence[str]
    modes: Sequence[str]
    bodies: Sequence[str]
    value_networks: Sequence[str]
    ppo_widths: Sequence[int]
    value_widths: Mapping[str, Sequence[int]]
    repeats: int


DEFAULTS = {
    "cpu": Defaults(
        parts=PARTS,
        modes=MODES,
        bodies=BODIES,
        value_networks=VALUE_NETWORKS,
        ppo_widths=(1, 2, 4, 8, 16),
        # With pixels a pack gains little.
        value_widths={"small_impala": (1, 2, 4, 8), "nature": (1, 2), "impala": (1, 2)},
        repeats=9,
    ),
    "cuda": Defaults(
        parts=("widths", "bodies", "values"),
        modes=("compiled",),
        bodies=(STANDING,),
        value_networks=("small_impala", "impala"),
        ppo_widths=(64, 256),
        value_widths={"small_impala": (16, 64), "nature": (16,), "impala": (16,)},
        repeats=3,
    ),
}
"""By kind of device."""


@dataclass(frozen=True)
class Choices:
    """The choices of a command line.

    modes: eager, compiled, kernels. widths, steps: a pack's widths and a burst's steps; None for each network's
    defaults. bodies: for PPO. value_networks: for value agents.
    """

    networks: Sequence[str]
    activations: Sequence[str]
    interventions: Sequence[str]
    widths: Sequence[int] | None
    modes: Sequence[str]
    parts: Sequence[str]
    device: str
    repeats: int
    steps: int | None = None
    bodies: Sequence[str] = ()
    value_networks: Sequence[str] = ()

    @property
    def mode(self) -> str:
        """The mode of comparisons that vary something else: compiled if asked for, otherwise kernels or eager."""
        return min(self.modes, key=("compiled", "kernels", "eager").index, default="eager")

    def widths_of(self, network: str) -> Sequence[int]:
        """The widths of packs."""
        return self.widths or SETTINGS[network].widths[kind(self.device)]

    @property
    def defaults(self) -> Defaults:
        """The defaults for the kind of the device."""
        return DEFAULTS[kind(self.device)]

    def width_of(self, network: str) -> int:
        """The width of comparisons that vary something else: 8 on a CPU, or the nearest below that is asked for."""
        widths = self.widths_of(network)
        narrow = [width for width in widths if width <= 8] if self.device == "cpu" else widths
        return max(narrow, default=min(widths))


def kind(device: str) -> str:
    """The kind of a device: cpu or cuda."""
    return device.partition(":")[0]


def parser_of(name: str, docstring: str | None) -> argparse.ArgumentParser:
    """The parser of `python -m launch.bench.NAME`, described by the first line of the module's docstring."""
    return argparse.ArgumentParser(prog=f"python -m launch.bench.{name}", description=(docstring or "").split("\n")[0])


def parsed(parser: argparse.ArgumentParser, result: str) -> argparse.Namespace:
    """The options of the command line, with --out, the folder for the file of `write_result`.  result: its name."""
    parser.add_argument("--out", type=Path, default=Path("bench_results"), help=f"folder for {result}.json")
    return parser.parse_args()


def write_result(folder: Path, name: str, content: Mapping[str, Any]) -> None:
    """Writes NAME.json: the content, the provenance of the numbers, and the load of the machine.  Raises StoreError."""
    made = provenance() | content.get("provenance", {}) | {"load": os.getloadavg()}
    write_json(folder / f"{name}.json", {**content, "provenance": made})
