"""Where a table's numbers come from: the code, the machines, the settings and the seed of every run in it.

The JSON beside a table is enough to make it again, also together with others, where the store is no longer at hand.
"""

import json
from collections.abc import Mapping, Sequence
from math import isfinite, isnan, nan
from pathlib import Path
from typing import Any

from analysis.rows import Row, as_of_today, key
from analysis.statistics.method import methods_in, shared
from analysis.stored_json import kind_of, said_of_figure
from plasticity_lab.errors import StoreError
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.stage_returns import StageReturn

MADE = ("commit", "dirty", "versions", "python", "cpu", "device", "mode", "data", "data_part")
"""What of a run's provenance says how its numbers came about; runs that agree in it stand together."""
KEPT_LATER = ("code", "classes", "parts")
"""The same, of runs that have it: earlier versions did not keep the code, most runs have one part and no own class."""
ASKED = ("benchmark", "intervention", "protocol", "schedule", "hyperparams")
OWN = ("activation", "seeds", "status", "collapsed", "summary", "planned")


def origin(rows: Sequence[Row]) -> str:
    """JSON: a list of groups of runs, `made` by the same code on the same sort of machine (by nothing yet, where they
    are waiting), asked for alike, with the same `study` (the settings that a fair comparison holds fixed) and the same
    `measures` (what the numbers of their summaries are).

    `runs`: run id → activation, its own settings, seeds (seed, stream_seed, init_seed), how it ended, the summary as
    stored, and whether a plan named it; where the rows have them, `stages`: a list for each of its tasks, with the
    fields of `StageReturn`. `intervals`: by what those of the table were made.
    """
    methods = shared(row.methods for row in rows)
    intervals = {of: method.as_json() for of, method in methods.items()}
    groups: dict[tuple[object, ...], dict[str, Any]] = {}
    measures = {id(row.declared): row.declared.as_json() for row in {id(row.declared): row for row in rows}.values()}
    words = {id(row.study): key(row.study) for row in {id(row.study): row for row in rows}.values()}
    words |= {which: key(said) for which, said in measures.items()}
    for row in rows:
        asked = {name: getattr(row, name) for name in ASKED}
        made = {name: row.provenance.get(name) for name in MADE}
        made |= {name: row.provenance[name] for name in KEPT_LATER if name in row.provenance}
        place = (str(made), *asked.values(), words[id(row.study)], words[id(row.declared)])
        if place not in groups:
            alike = {"made": made, **asked, "study": dict(row.study), "measures": measures[id(row.declared)]}
            printed = {} if row.printed is None else {"printed": row.printed}
            groups[place] = {**alike, "intervals": intervals, **printed, "runs": {}}
        own = {name: getattr(row, name) for name in OWN} | ({"flags": dict(row.flags)} if row.flags else {})
        own |= {} if row.stages is None else {"stages": list(map(_plain, row.stages))}
        groups[place]["runs"][row.run] = {**own, "settings": dict(row.own), "end": row.provenance.get("end")}
    return "[\n" + ",\n".join(map(_group, groups.values())) + "\n]\n"


def _group(group: Mapping[str, Any]) -> str:
    """A group as JSON, a run a line: ten times as fast as indented throughout."""
    lines = ",\n".join(f"  {json.dumps(run)}: {json.dumps(one)}" for run, one in group["runs"].items())
    shared = json.dumps({name: value for name, value in group.items() if name != "runs"})
    return f' {shared[:-1]}, "runs": {{\n{lines}\n }}}}'


def _study(group: Mapping[str, Any]) -> dict[str, Any]:
    """What a group's runs have alike, as runs of today have it."""
    study = as_of_today({**group["study"], "benchmark.name": group["benchmark"]})
    return {name: value for name, value in study.items() if name != "benchmark.name"}


def _plain(stage: StageReturn) -> list[int | float | str | None]:
    """A stage as JSON has it: null for a return that there is not, and a word for one that is not finite."""
    returns = [None if isnan(each) else each if isfinite(each) else str(each) for each in (stage.train, stage.test)]
    return [stage.task, stage.body, stage.cycle, stage.episodes, *returns]


def _stage(task: int, body: int, cycle: int, episodes: int, *returns: float | str | None) -> StageReturn:
    train, test = (nan if each is None else float(each) for each in returns)
    return StageReturn(task, body, cycle, episodes, train, test)


def rows_of(path: Path) -> list[Row]:
    """The rows of a table that was written earlier.  Raises StoreError if the file is none that `origin` made."""
    try:
        groups = json.loads(path.read_bytes())
        if not isinstance(groups, list):
            raise TypeError("it holds no list")
        return [
            Row(
                run=run,
                **{name: group[name] for name in ASKED},
                **{name: one[name] for name in OWN if name != "seeds"},
                seeds=tuple(one["seeds"]),
                own=one["settings"],
                study=study,
                declared=declared_in(group),
                provenance={**group["made"], "end": one["end"]},
                flags=one.get("flags", {}),
                stages=[_stage(*stage) for stage in one["stages"]] if "stages" in one else None,
                methods=methods,
                printed=group.get("printed"),
            )
            for group in groups
            for study, methods in [(_study(group), methods_in(group.get("intervals", {})))]
            for run, one in group["runs"].items()
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if kind_of(path) == "figure":
            raise StoreError(said_of_figure(path)) from error
        raise StoreError(
            f"{path} is not the JSON of a table ({type(error).__name__}: {error}); name a store, or a .json file that "
            "`python -m analysis table` has written."
        ) from error
