"""The runs of a store as the report shows them: one line each in its table, their details, and their curves.

A run that was requested under several names has one line, because its numbers do not depend on the names.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from analysis.conf import groups
from analysis.figures.courses import binned, body_name, extents
from analysis.figures.drawing import with_unit
from analysis.figures.style import POINTS
from analysis.frames import columns_of
from analysis.report.run_command import words_of_seeds, words_of_settings
from analysis.rows import NAMED_BY_THE_ASKER, SEEDS, Row, grouped, varying
from analysis.tables.table import Metrics
from plasticity_lab.records.measures import Measure
from plasticity_lab.records.record_facts import MEASURED

FIRST = ("run", "status", "activation", "benchmark")
NAMED = ("intervention", *NAMED_BY_THE_ASKER)
PLAIN = (str, bool, int, float, type(None))
"""Types of values that are compared as they are; others are compared as text."""
NUMBERS, LEAST = 1_000_000, 10
"""The approximate limit of numbers in all curves together, and the minimum number of points of a curve.

Curves have fewer points if the store has very many runs.
"""
CURVE_DIGITS = 4
Numbers = Mapping[str, Sequence[float | None]]
"""Name of a summary value → its value in each run; None if a run has none, or one that is no number."""


def coded(values: Iterable[Any]) -> dict[str, list]:
    """A column as its different values and, for each line, the index of its value in them."""
    values = list(values)
    words: list[Any] = values
    kinds = set(map(type, values))
    if len(kinds & {bool, int, float}) > 1 or not kinds <= {*PLAIN}:  # 1, 1.0 and True are equal in Python
        words = [(type(value), value if isinstance(value, PLAIN) else str(value)) for value in values]
    different = dict(zip(words, values, strict=True))
    place_of = {word: place for place, word in enumerate(different)}
    return {"values": list(different.values()), "codes": [place_of[word] for word in words]}


def coded_columns(lines: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, list]]:
    """Name → `coded` values of all lines; null if a line lacks the name.

    Lines that are one object, such as the settings of runs that differ only in seeds, are coded once.
    """
    places: dict[int, int] = {}
    order = [places.setdefault(id(line), len(places)) for line in lines]
    different = list({id(line): line for line in lines}.values())
    columns = {}
    for name, values in columns_of(different).items():
        column = coded(values)
        codes = column["codes"]
        columns[name] = {"values": column["values"], "codes": [codes[place] for place in order]}
    return columns


def rounded(numbers: Iterable[float | None], digits: int) -> list[float | None]:
    """Numbers with few digits; None for None and for numbers that are not finite, which JSON does not have."""
    short = pl.Series(numbers, dtype=pl.Float64).round_sig_figs(digits)
    short = short.zip_with(short.abs() < 10**digits, short.round())  # Polars leaves 460099999.99999994
    return short.set(~short.is_finite(), None).to_list()


def one_each(rows: Sequence[Row]) -> list[Row]:
    """One row for each run."""
    return list({row.run: row for row in rows}.values())


def runs_payload(rows: Sequence[Row]) -> dict[str, Any]:
    """The page's data about runs, in the order of the rows.

    columns: the columns of the table of runs, each with a title and coded values.
    told: the details of the runs: section → name → coded values.
    vocabulary: the words of all commands; words: for each run, the indices of its command's words in it.
    measures: name of a summary value → title, unit, scale, decimals.
    """
    numbers = {
        name: [value if type(value) in (int, float) else None for value in values]
        for name, values in columns_of([row.summary for row in rows]).items()
    }
    same: dict[tuple[Any, ...], list[str]] = {}
    commands = []
    for row in rows:
        of_settings = (id(row.study), id(row.own), *(getattr(row, name) for name in (*FIRST[2:], *NAMED)))
        if of_settings not in same:
            same[of_settings] = words_of_settings(row)
        commands.append([*same[of_settings], *words_of_seeds(row)])
    vocabulary = {word: place for place, word in enumerate(dict.fromkeys(word for line in commands for word in line))}
    measures = {
        name: {"title": measure.title, "unit": measure.unit, "scale": measure.scale, "places": measure.places}
        for name, measure in _summaries(rows).items()
    }
    return {
        "columns": _columns(rows, numbers),
        "told": _told(rows, numbers),
        "vocabulary": list(vocabulary),
        "words": [[vocabulary[word] for word in line] for line in commands],
        "measures": measures,
    }


def status_of(row: Row) -> str:
    """The status of a run, the step of an early end, and the flags of its record."""
    step = row.diverged_at_step or row.stopped_at_step
    at = f" at step {step:,}" if step else ""
    return ", ".join([f"{row.status}{at}", *flags_of(row)])


def flags_of(row: Row) -> list[str]:
    """The flags of a run's record, without its status."""
    return [*(["collapsed"] if row.collapsed else []), *(flag for flag, is_so in row.flags.items() if is_so)]


def _columns(rows: Sequence[Row], numbers: Numbers) -> list[dict[str, Any]]:
    """The columns of the table of runs: choices, seeds, results, and the settings that differ between runs."""
    columns = []
    for name in FIRST:
        values = (status_of(row) if name == "status" else getattr(row, name) for row in rows)
        columns.append({"title": name, **coded(values)})
    for name in NAMED:
        column = coded(getattr(row, name) for row in rows)
        columns += [{"title": name, **column}] if len(column["values"]) > 1 else []
    for place, name in enumerate(SEEDS):
        column = coded(row.seeds[place] for row in rows)
        columns += [{"title": name, **column}] if name == "seed" or column["values"] != [None] else []
    nothing = [None] * len(rows)
    for name, measure in _shown(rows).items():
        title = with_unit(measure.short or name, measure)
        scaled = (None if number is None else number * measure.scale for number in numbers.get(name, nothing))
        columns.append({"title": title, "places": measure.places, **coded(rounded(scaled, 7))})
    shared: dict[tuple[int, int], dict[str, Any]] = {}
    varied = _varied(rows)
    for row in rows:
        if (place := (id(row.study), id(row.own))) not in shared:
            settings = {**row.study, **row.own}
            shared[place] = {name: settings.get(name) for name in varied}
    of_rows = coded_columns([shared[id(row.study), id(row.own)] for row in rows])
    return columns + [{"title": name, **column} for name, column in of_rows.items()]


def _varied(rows: Sequence[Row]) -> list[str]:
    """The settings that differ between runs with the same choice; settings of two activations always differ."""
    found: set[str] = set()
    # Rows share their settings, so each object is read once.
    different = {(id(row.study), id(row.own), row.activation, row.benchmark, row.intervention): row for row in rows}
    for group in groups():
        alike: dict[Any, list[dict[str, Any]]] = {}
        for row in different.values():
            settings = {**row.study, **row.own}
            its_own = {name: value for name, value in settings.items() if name.startswith(f"{group}.")}
            alike.setdefault(its_own.get(f"{group}.name", getattr(row, group, None)), []).append(its_own)
        found.update(*(varying(settings) for settings in alike.values()))
        if group not in FIRST and group not in NAMED and len(alike) > 1:
            found.add(f"{group}.name")
    alone = varying({name: value for name, value in row.study.items() if "." not in name} for row in different.values())
    return sorted(found | {name for name in alone if name not in SEEDS})


def _told(rows: Sequence[Row], numbers: Numbers) -> dict[str, dict[str, Any]]:
    """Section → name → coded values; null if a run does not have it."""
    sections: dict[str, list[dict[str, Any]]] = {"ended": [], "settings": [], "provenance": []}
    shared: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        steps = {name: getattr(row, name) for name in ("diverged_at_step", "stopped_at_step")}
        named = [getattr(row, name) for name in (*FIRST[2:], *NAMED)]
        if (place := (id(row.study), id(row.own), *named)) not in shared:
            settings = {name: getattr(row, name) for name in ("activation", "benchmark", "intervention")}
            settings |= dict(sorted({**row.study, **row.own}.items())) | dict.fromkeys(SEEDS)
            shared[place] = settings | {name: getattr(row, name) for name in NAMED_BY_THE_ASKER}
        sections["ended"].append({**steps, "error": row.error, **row.flags})
        sections["settings"].append(shared[place])
        sections["provenance"].append({name: value for name, value in row.provenance.items() if value is not None})
    summary = {name: coded(rounded(values, 7)) for name, values in numbers.items()}
    told = {"summary": {name: column for name, column in summary.items() if column["values"] != [None]}}
    told |= {section: coded_columns(lines) for section, lines in sections.items()}
    told["settings"] |= {name: coded(row.seeds[place] for row in rows) for place, name in enumerate(SEEDS)}
    return told


def _summaries(rows: Sequence[Row]) -> dict[str, Measure]:
    """Name → the declaration of the summary value, from the first agent with that value."""
    found: dict[str, Measure] = {}
    for declared in {id(row.declared): row.declared for row in rows}.values():
        for name, measure in declared.summaries.items():
            found.setdefault(name, measure)
    return found


def _shown(rows: Sequence[Row]) -> dict[str, Measure]:
    """The summary values with a column: main metrics first, then other values with a better direction, and the cost."""
    declared = list({id(row.declared): row.declared for row in rows}.values())
    headlines = {each.headline: each.summaries[each.headline] for each in declared}
    chosen = {measure.name: measure for each in declared for measure in each.with_direction}
    cost = {name: measure for name, measure in _summaries(rows).items() if name in ("parameters", "seconds")}
    return {**headlines, **chosen, **cost}


# The curves of every run, with at most fifty points each: its agent's measurements during training.


def curves_payload(rows: Sequence[Row], metrics: Metrics) -> dict[str, Any]:
    """The page's data about curves.

    points: the maximum number of points of a curve. panels: one for each column of each agent, with title and unit, the
    meaning of x, and `lines`. lines: the index of a run's row → its lines, each as name, x and y. The name is a body;
    it is "" if the agent has only one.
    """
    place_of = {row.run: place for place, row in enumerate(rows)}
    alike = grouped((row for row in rows if row.status in MEASURED), lambda row: id(row.declared))
    curves = sum(len(group) * len(group[0].declared.curves) for group in alike.values())
    points = max(LEAST, min(POINTS, NUMBERS // max(curves, 1)))
    panels = []
    for group in alike.values():
        read = metrics([row.run for row in group])
        known = extents(read)
        for column in group[0].declared.curves:
            bins, whole = binned(read, column, known, points)
            if len(bins):
                title, x = with_unit(column.measure.title, column.measure), "task" if whole else "steps of the run"
                lines = _lines(bins, place_of, {row.run: row for row in group})
                panels.append({"y": title, "x": x, "lines": lines})
    return {"points": points, "panels": panels}


def _lines(bins: pl.DataFrame, place_of: dict[str, int], row_of: dict[str, Row]) -> dict[str, list]:
    several = bins["body"].n_unique() > 1
    places, values = rounded(bins["place"], CURVE_DIGITS + 1), rounded(bins["value"], CURVE_DIGITS)
    tasks = bins["task"].to_list()
    lines: dict[str, list] = {}
    # Polars' `group_by` would make a frame of each curve, which takes longer than everything else here.
    curves = bins.select(pl.struct("run", "body").rle().struct.unnest())
    end = 0
    for length, curve in curves.iter_rows():
        run, body = curve["run"], curve["body"]
        begin, end = end, end + length
        x, y = places[begin:end], values[begin:end]
        if several:
            # If the agent trained on another body in between, the line has a gap.
            for at in reversed(range(1, length)):
                if tasks[begin + at] > tasks[begin + at - 1] + 1:
                    x.insert(at, None)
                    y.insert(at, None)
        name = body_name(row_of[run], body) if several else ""
        lines.setdefault(str(place_of[run]), []).append([name, x, y])
    return lines
