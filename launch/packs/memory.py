"""How often the kernel has killed a process for lack of memory: a worker that is killed so cannot say it itself.

A worker's lease keeps the count of its control group as it was when the pack was taken. If it has grown when the next
worker of that group looks, that is the evidence.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from plasticity_lab.process.control_groups import folders
from plasticity_lab.records.damage import fault_of_fields

MEMORY = "memory"
"""The key under which a lease keeps it."""


@dataclass(frozen=True)
class Kills:
    """group: a control group, and the boot of the machine that it is of. count: its kills for memory so far."""

    group: str
    count: int

    def as_json(self) -> dict[str, Any]:
        """What a lease file holds."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> "Kills | None":
        """What a lease file says; None if nothing."""
        return None if fault_of_fields(value, {"group": str, "count": int}) else cls(value["group"], value["count"])

    @staticmethod
    def came(before: "Kills | None", after: "Kills | None") -> bool:
        """Whether a process of the same group was killed between two looks."""
        return before is not None and after is not None and before.group == after.group and after.count > before.count


def oom_kills() -> Kills | None:
    """The kills for memory in this process's control group; None where the system does not say."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    except OSError:
        return None
    for folder in folders("memory"):
        for name in ("memory.events", "memory.oom_control"):
            if (count := _count(folder / name)) is not None:
                return Kills(f"{boot}{folder}", count)
    return None


def _count(file: Path) -> int | None:
    try:
        lines = dict(line.split() for line in file.read_text().splitlines())
        return int(lines["oom_kill"])
    except (OSError, KeyError, ValueError):
        return None
