"""From runs to packs: a pure function. No clock, no file, no device."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from launch.calibration import Calibration
from plasticity_lab.component import load, real_settings
from plasticity_lab.errors import PlanError
from plasticity_lab.records.identity import canonical_json, pack_id

Run = Mapping[str, Any]
SEEDS = ("seed", "stream_seed", "init_seed")


@dataclass(frozen=True)
class Size:
    """What planning must know of a run: its steps, batch size and parameters, and its bytes in a pack."""

    steps: int
    batch_size: int
    parameters: int
    bytes: int


@dataclass(frozen=True)
class Pack:
    """Runs that one process trains at the same time on one device.

    kind: the device kind it was planned for. steps: of each run. bytes, seconds: estimated.
    """

    id: str
    attempt: int
    runs: tuple[str, ...]
    label: str
    kind: str
    mode: str
    steps: int
    bytes: int
    seconds: float

    @property
    def width(self) -> int:
        """How many runs."""
        return len(self.runs)

    @property
    def run_steps(self) -> int:
        """Steps of all its runs."""
        return self.steps * self.width

    def as_json(self) -> dict[str, Any]:
        """The pack as plan.json holds it."""
        return asdict(self) | {"width": self.width}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "Pack":
        """A pack out of plan.json."""
        fields = {name: value[name] for name in Pack.__dataclass_fields__}
        return Pack(**fields | {"runs": tuple(value["runs"])})


def stacking_key(run: Run) -> str:
    """What must agree inside a pack: everything but the seeds and the settings that are numbers on the run axis."""
    science = run["science"]
    structure: dict[str, Any] = {key: value for key, value in science.items() if key not in SEEDS}
    for group, target in run["targets"].items():
        real = real_settings(load(target))
        structure[group] = {key: value for key, value in science[group].items() if key not in real}
    return canonical_json([structure, run["targets"]])


def plan(
    runs: Sequence[Run],
    *,
    size_of: Callable[[Run], Size],
    mode_of: Callable[[int], str],
    kind: str,
    calibration: Calibration,
    memory: int,
    workers: int,
    taken: Callable[[str], bool] = lambda pack: False,
) -> list[Pack]:
    """The same runs in any order give the same packs, long ones first.

    memory: bytes a pack may use. workers: there are at least so many packs where there are as many runs. taken: whether
    a pack id has been used up by an earlier attempt. Raises PlanError naming a run that does not fit alone.
    """
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run["id"]):
        groups[stacking_key(run)].append(run)
    cuts: list[tuple[list[Run], Size, str]] = []
    for alike in groups.values():
        size = size_of(alike[0])
        mode = mode_of(size.steps)
        if size.bytes > memory:
            raise PlanError(
                f"Run {alike[0]['id']} needs {size.bytes / 2**30:.1f} GiB alone, and a pack may use "
                f"{memory / 2**30:.1f} GiB on {kind}; choose another device or a smaller benchmark.batch_size."
            )
        width = min(calibration.width[mode], memory // size.bytes)
        cuts += [(part, size, mode) for part in _evenly(alike, -(-len(alike) // width))]
    while len(cuts) < min(workers, len(runs)):
        widest = max(range(len(cuts)), key=lambda at: (len(cuts[at][0]), cuts[at][1].steps))
        part, size, mode = cuts.pop(widest)
        cuts += [(half, size, mode) for half in _evenly(part, 2)]
    packs = [_pack(part, size, mode, kind, calibration, taken) for part, size, mode in cuts]
    return sorted(packs, key=lambda pack: (-pack.seconds, pack.id))


def _pack(
    runs: Sequence[Run], size: Size, mode: str, kind: str, calibration: Calibration, taken: Callable[[str], bool]
) -> Pack:
    ids = tuple(run["id"] for run in runs)
    attempt = 0
    while taken(pack_id(ids, attempt)):
        attempt += 1
    science = runs[0]["science"]
    return Pack(
        id=pack_id(ids, attempt),
        attempt=attempt,
        runs=ids,
        label=f"{science['activation']['name']} · {science['benchmark']['name']}",
        kind=kind,
        mode=mode,
        steps=size.steps,
        bytes=size.bytes * len(runs),
        seconds=calibration.seconds(mode, len(runs), size.steps, size.parameters, size.batch_size),
    )


def _evenly(runs: Sequence[Run], parts: int) -> list[list[Run]]:
    """The runs in order, cut into parts that differ by one run at most."""
    short, longer = divmod(len(runs), parts)
    ends = [short * (part + 1) + min(part + 1, longer) for part in range(parts)]
    return [list(runs[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
