"""Results of measurements in the form of analysis/measured/speed: with their machine and command."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from launch.campaign.entry import Entry
from launch.campaign.machine import busy_share
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.files import write_json

PROVENANCE = ("cpu", "device", "torch", "commit", "dirty", "start", "load")
"""The facts that are kept; the name of the machine is not among them."""
MEASURED = Path(__file__).parents[2] / "analysis" / "measured" / "speed"


def samples_of(part: int) -> str:
    """The name of the file with the samples of the GPU's use during a command."""
    return f"busy_{part}.txt"


def collected(out: Path, to: Path, machine: str, entry: Entry) -> list[Path]:
    """Copies the bench.json of each command of an entry into a folder; returns the new files.

    They get `machine`, `command`, and `busy`: the GPU's mean use in [0, 1], and the number of samples.
    """
    written = []
    for part, command in enumerate(entry.commands):
        words = shlex.split(command)
        place = words[words.index("--out") + 1].removeprefix("{out}").strip("/") if "--out" in words else ""
        path = out / place / "bench.json"
        content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if not content.get("comparisons"):
            continue
        share, samples = busy_share(out / samples_of(part))
        kept = {name: value for name, value in content.get("provenance", {}).items() if name in PROVENANCE}
        made = {"machine": machine, "command": _without_out(words), "busy": {"share": share, "samples": samples}}
        to.mkdir(parents=True, exist_ok=True)
        written.append(to / f"{'_'.join([_file(machine), entry.name, *filter(None, [place])])}.json")
        write_json(written[-1], made | content | {"provenance": kept})
    return written


def _without_out(words: Sequence[str]) -> str:
    """A command without its folder, for a GPU."""
    at = words.index("--out")
    return shlex.join([*words[:at], *words[at + 2 :]]).replace("'{python}'", "python").replace("'{device}'", "cuda")


def _file(machine: str) -> str:
    """The beginning of a file's name: gpu_h200 for an NVIDIA H200."""
    words = [word for word in machine.replace("NVIDIA", "").lower().split() if word.isalnum()]
    return "_".join(["gpu" if "NVIDIA" in machine else "cpu", *words[:1]]) if machine != "cpu" else "cpu"


def take(folder: Path, to: Path = MEASURED) -> list[Path]:
    """Copies a returned campaign's measurements into analysis/measured/speed.  Raises ConfigError if it has none."""
    found = sorted((folder / "speed").glob("*.json"))
    if not found:
        raise ConfigError(f"{folder} has no measurements; it is the folder of a campaign that has run.")
    for path in found:
        (to / path.name).write_bytes(path.read_bytes())
    return [to / path.name for path in found]
