"""Which benchmarks of a preset a command leaves out, because their data are not on this machine."""

import json
from collections.abc import Sequence
from dataclasses import replace

from launch.runs.classes import data_subfolder_of
from launch.runs.resolve import Resolved
from plasticity_lab.data.folder import data_folder
from plasticity_lab.run import Run


def with_data(found: Resolved, typed: Sequence[str]) -> Resolved:
    """Without the runs of benchmarks that a preset names and whose data are not here; a note says which.

    typed: the command's own words about runs. A benchmark that was typed stays, and so do all in a plan that is only
    shown. If no benchmark has its data, all stay too: training names the missing files.  Raises ConfigError.
    """
    named = any(word.partition("=")[0] == "benchmark" for word in typed)
    if found.settings.dry_run or named or found.runs[0].asked_as[0]["experiment"] is None:
        return found
    folder, here = data_folder(found.settings.data), dict[str, bool]()
    for run in found.runs:
        if (benchmark := _benchmark(run)) not in here:
            subfolder = data_subfolder_of((run.targets["benchmark"], run.science["benchmark"]))
            here[benchmark] = not subfolder or (folder / subfolder).is_dir()
    runs = [run for run in found.runs if here[_benchmark(run)]]
    left = {run.name("benchmark") for run in runs}
    absent = [name for name in dict.fromkeys(run.name("benchmark") for run in found.runs) if name not in left]
    if not runs or not absent:
        return found
    note = (
        f"benchmark: {', '.join(absent)} left out, as {'their' if len(absent) > 1 else 'its'} data are not in {folder} "
        "(`python -m plasticity_lab.data fetch NAME` brings them); typed, as benchmark=…, they would be asked for."
    )
    return replace(found, runs=runs, notes=[*found.notes, note])


def _benchmark(run: Run) -> str:
    return json.dumps(run.science["benchmark"], sort_keys=True)
