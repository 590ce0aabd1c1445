"""The .json of a table: the code, the machine, the settings and the seed of every run in it.

It is enough to make the table again without the store, also together with other tables. Figures have a .json too; this
module distinguishes the two kinds of file.
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, isnan, nan
from pathlib import Path
from typing import Any, Literal

from analysis.rows import Row, as_of_today, key
from analysis.statistics.method import methods_in, shared
from plasticity_lab.errors import StoreError
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.stage_returns import StageReturn

ENDING = ".json"
Kind = Literal["figure", "table"]
MADE = ("commit", "dirty", "versions", "python", "cpu", "device", "mode", "data", "data_part")
"""The parts of the provenance that describe how the numbers were computed; runs with equal parts form a group."""
KEPT_LATER = ("code", "classes", "parts")
"""Further such parts, for runs that have them: old records lack the code; most runs have one part and no outside class.
"""
ASKED = ("benchmark", "intervention", "protocol", "schedule", "hyperparams")
OWN = ("activation", "seeds", "status", "collapsed", "summary", "planned")


def origin(rows: Sequence[Row]) -> str:
    """JSON: a list of groups of runs. The runs of a group have the same names and these same fields:

    - `made`: the code and the kind of machine; empty for waiting runs.
    - `study`: the settings that a fair comparison holds fixed.
    - `measures`: the declaration of the numbers in their summaries.
    - `intervals`: the methods behind the table's intervals.

    `runs`: run id → activation, its settings, seeds (seed, stream_seed, init_seed), status, the summary as stored, and
    whether a plan named the run. If the rows have them, also `stages`: a list for each task, with the fields of
    `StageReturn`.
    """
    intervals = {kind: method.as_json() for kind, method in shared(row.methods for row in rows).items()}
    groups: dict[tuple[object, ...], dict[str, Any]] = {}
    measures = {id(row.declared): row.declared.as_json() for row in {id(row.declared): row for row in rows}.values()}
    words = {id(row.study): key(row.study) for row in {id(row.study): row for row in rows}.values()}
    words |= {which: key(measure) for which, measure in measures.items()}
    for row in rows:
        asked = {name: getattr(row, name) for name in ASKED}
        made = {name: row.provenance.get(name) for name in MADE}
        made |= {name: row.provenance[name] for name in KEPT_LATER if name in row.provenance}
        place = (str(made), *asked.values(), words[id(row.study)], words[id(row.declared)])
        if place not in groups:
            group = {"made": made, **asked, "study": dict(row.study), "measures": measures[id(row.declared)]}
            group["intervals"] = intervals
            if row.printed is not None:
                group["printed"] = row.printed
            groups[place] = {**group, "runs": {}}
        run = {name: getattr(row, name) for name in OWN}
        if row.flags:
            run["flags"] = dict(row.flags)
        if row.stages is not None:
            run["stages"] = list(map(_plain, row.stages))
        groups[place]["runs"][row.run] = {**run, "settings": dict(row.own), "end": row.provenance.get("end")}
    return "[\n" + ",\n".join(map(_text, groups.values())) + "\n]\n"


def rows_of(path: Path) -> list[Row]:
    """The rows of a table's .json.  Raises StoreError if `origin` did not write the file."""
    try:
        groups = json.loads(path.read_bytes())
        if not isinstance(groups, list):
            raise TypeError("it holds no list")
        return [row for group in groups for row in _rows(group)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if kind_of(path) == "figure":
            raise StoreError(said_of_figure(path)) from error
        raise StoreError(
            f"{path} is not the JSON of a table ({type(error).__name__}: {error}); name a store, or a .json file that "
            "`python -m analysis table` has written."
        ) from error


def kind_of(path: Path) -> Kind | None:
    """The kind of a file by its outermost keys; None if it is neither kind or cannot be read."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if isinstance(content, dict) and "panels" in content:
        return "figure"
    is_table = isinstance(content, list) and all(isinstance(group, dict) and "runs" in group for group in content)
    return "table" if is_table else None


def said_of_figure(path: Path) -> str:
    """The message for a figure's file that was given instead of runs."""
    command = f"python -m analysis figure {shlex.quote(str(path))}"
    return f"{path} holds a figure, and not the runs that it shows; `{command}` draws it."


def said_of_table(path: Path) -> str:
    """The message for a table's file that was given instead of a figure."""
    word = shlex.quote(str(path))
    return (
        f"{path} holds the runs of a table, and no figure; `python -m analysis figure NAME --store {word}` "
        f"draws one of them, `python -m analysis table --store {word}` makes the table."
    )


def _text(group: Mapping[str, Any]) -> str:
    """A group as JSON with one run on each line: ten times as fast as indenting everything."""
    lines = ",\n".join(f"  {json.dumps(run)}: {json.dumps(content)}" for run, content in group["runs"].items())
    head = json.dumps({name: value for name, value in group.items() if name != "runs"})
    return f' {head[:-1]}, "runs": {{\n{lines}\n }}}}'


def _rows(group: Mapping[str, Any]) -> Iterator[Row]:
    study = as_of_today({**group["study"], "benchmark.name": group["benchmark"]})
    study.pop("benchmark.name")
    methods = methods_in(group.get("intervals", {}))
    for run, content in group["runs"].items():
        yield Row(
            run=run,
            **{name: group[name] for name in ASKED},
            **{name: content[name] for name in OWN if name != "seeds"},
            seeds=tuple(content["seeds"]),
            own=content["settings"],
            study=study,
            declared=declared_in(group),
            provenance={**group["made"], "end": content["end"]},
            flags=content.get("flags", {}),
            stages=[_stage(*stage) for stage in content["stages"]] if "stages" in content else None,
            methods=methods,
            printed=group.get("printed"),
        )


def _plain(stage: StageReturn) -> list[int | float | str | None]:
    """A stage for JSON: null for a missing return, and a word for a return that is not finite."""
    returns = [
        None if isnan(value) else value if isfinite(value) else str(value) for value in (stage.train, stage.test)
    ]
    return [stage.task, stage.body, stage.cycle, stage.episodes, *returns]


def _stage(task: int, body: int, cycle: int, episodes: int, *returns: float | str | None) -> StageReturn:
    train, test = (nan if value is None else float(value) for value in returns)
    return StageReturn(task, body, cycle, episodes, train, test)
