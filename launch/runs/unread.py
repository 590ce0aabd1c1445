"""Settings that are typed and that nothing reads, since another setting decides that; a line names each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from launch.runs.classes import reader_of
from launch.runs.groups import COMPONENTS
from plasticity_lab.component import as_typed
from plasticity_lab.records.settings import Settings
from plasticity_lab.run import Run, group_of, option_of

OF_TRACKING = ("tracking.project", "tracking.entity", "tracking.live_runs")
OF_MEMORY = ("replay_memory_mib", "replay_memory_minutes")


def unread(typed: Mapping[str, Sequence[Any]], runs: Sequence[Run], settings: Settings) -> list[str]:
    """A line for each typed setting that no run of a command reads.  typed: dotted name → its values."""
    lines = [line for key in typed if group_of(key) in COMPONENTS for line in _of_component(key, runs)]
    return [f"{line} It changes nothing." for line in [*lines, *_of_command(typed, runs, settings)]]


def _of_component(key: str, runs: Sequence[Run]) -> Iterator[str]:
    """The line of a component's setting, if there is one: not if one run reads it."""
    group, _, rest = key.partition(".")
    option, _, setting = rest.rpartition(".")
    why: dict[str, None] = {}
    seen: set[tuple[str, int]] = set()
    for run in runs:
        for address in run.addresses(group):
            own = run.science.get(group) or run.besides.get(group)
            if (address, id(own)) in seen or (option and option not in (option_of(address), run.name(address))):
                continue
            seen.add((address, id(own)))
            values = run.settings(address)
            if setting not in values:
                continue
            reader = reader_of(run.targets[address], setting, values)
            if reader is None:
                return
            why[f"{address}.{reader}={as_typed(values[reader]).strip(chr(39))}"] = None
    if why:
        yield f"{key} is not read with {' or '.join(why)}."


def _of_command(typed: Mapping[str, Sequence[Any]], runs: Sequence[Run], settings: Settings) -> Iterator[str]:
    """The lines of settings that belong to no component."""
    if "save_weights_every" in typed and settings.save_weights != "tasks":
        yield f"save_weights_every is of save_weights=tasks, and is not read with save_weights={settings.save_weights}."
    if settings.tracking.backend == "store":
        yield from (f"{key} is not read with tracking=store." for key in OF_TRACKING if key in typed)
    if not any("capacity" in run.science["agent"] for run in runs):
        yield from (f"{key} is not read by agents without a replay memory." for key in OF_MEMORY if key in typed)
    if "launch.processes" in typed and not any(hasattr(run.component("benchmark"), "bodies") for run in _kinds(runs)):
        yield "launch.processes is not read by benchmarks without environments."
    apart = [run for run in runs if None in (run.science.get("stream_seed"), run.science.get("init_seed"))]
    if "seed" in typed and not apart:
        yield "seed is not read with both stream_seed and init_seed: runs that differ in seed alone are the same."


def _kinds(runs: Sequence[Run]) -> list[Run]:
    """A run for each benchmark's class."""
    return list({run.targets["benchmark"]: run for run in runs}.values())
