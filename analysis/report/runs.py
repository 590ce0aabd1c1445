"""The runs of a store as the report shows them: a line each for its table, and all that is shown of one.

A run that was asked for under several names has one line: what it is does not depend on them.
"""

from collections.abc import Sequence
from typing import Any

from analysis.conf import groups
from analysis.report.packed import coded, rounded
from analysis.report.run_command import words_of_seeds, words_of_settings
from analysis.rows import Row, varying
from plasticity_lab.records.measures import Measure

FIRST = ("run", "status", "activation", "benchmark")
NAMED = ("intervention", "protocol", "schedule", "hyperparams")
SEEDS = ("seed", "stream_seed", "init_seed")


def one_each(rows: Sequence[Row]) -> list[Row]:
    """One row for each run."""
    return list({row.run: row for row in rows}.values())


def runs_payload(rows: Sequence[Row]) -> dict[str, Any]:
    """What the page is given of runs, in the order of the rows.

    columns: of the table of runs, each with a title and coded values. told: coded values, section → name, of what is
    told of one run. vocabulary: the words of all commands; words: those of each run's, by their places there.
    measures: name → title, unit, scale, decimals of summaries.
    """
    same: dict[tuple[Any, ...], list[str]] = {}
    commands = []
    for row in rows:
        of_settings = (id(row.study), id(row.own), *(getattr(row, name) for name in (*FIRST[2:], *NAMED)))
        if of_settings not in same:
            same[of_settings] = words_of_settings(row)
        commands.append([*same[of_settings], *words_of_seeds(row)])
    vocabulary = {word: place for place, word in enumerate(dict.fromkeys(word for line in commands for word in line))}
    return {
        "columns": _columns(rows),
        "told": _told(rows),
        "vocabulary": list(vocabulary),
        "words": [[vocabulary[word] for word in line] for line in commands],
        "measures": {name: _measure(measure) for name, measure in _summaries(rows).items()},
    }


def status_of(row: Row) -> str:
    """How a run ended, and what its record says of it besides."""
    step = row.diverged_at_step or row.stopped_at_step
    at = f" at step {step:,}" if step else ""
    return ", ".join([f"{row.status}{at}", *flags_of(row)])


def flags_of(row: Row) -> list[str]:
    """What the record of a run says of it besides its status."""
    return [*(["collapsed"] if row.collapsed else []), *(flag for flag, is_so in row.flags.items() if is_so)]


def _columns(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Those in which runs differ: what they are, what they came to, and their settings."""
    columns = [{"title": name, **coded(_field(row, name) for row in rows)} for name in FIRST]
    named = {name: coded(getattr(row, name) for row in rows) for name in NAMED}
    seeds = {name: coded(row.seeds[place] for row in rows) for place, name in enumerate(SEEDS)}
    columns += [{"title": name, **column} for name, column in named.items() if len(column["values"]) > 1]
    columns += [
        {"title": name, **column} for name, column in seeds.items() if name == "seed" or column["values"] != [None]
    ]
    for name, measure in _shown(rows).items():
        label = measure.short or name
        title = f"{label} ({measure.unit})" if measure.unit else label
        values = [_in_unit(row.summary.get(name), measure) for row in rows]
        columns.append({"title": title, "places": measure.places, **coded(values)})
    settings = [{**row.study, **row.own} for row in rows]
    columns += [{"title": name, **coded(one.get(name) for one in settings)} for name in _varied(rows)]
    return columns


def _varied(rows: Sequence[Row]) -> list[str]:
    """The settings in which runs differ that made the same choice: those of two activations differ anyhow."""
    found: set[str] = set()
    # Rows share their settings: each is looked at once.
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


def _field(row: Row, name: str) -> str:
    return status_of(row) if name == "status" else getattr(row, name)


def _told(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Section → name → coded values; null where a run has no such thing."""
    settings = [
        {
            **{name: getattr(row, name) for name in ("activation", "benchmark", "intervention")},
            **dict(sorted({**row.study, **row.own}.items())),
            **dict(zip(SEEDS, row.seeds, strict=True)),
            **{name: getattr(row, name) for name in NAMED[1:]},
        }
        for row in rows
    ]
    steps = ("diverged_at_step", "stopped_at_step")
    ended = [{**{name: getattr(row, name) for name in steps}, "error": row.error, **row.flags} for row in rows]
    made = [{name: value for name, value in row.provenance.items() if value is not None} for row in rows]
    summaries = [{name: rounded(value, 7) for name, value in row.summary.items() if _is_number(value)} for row in rows]
    sections = {"summary": summaries, "ended": ended, "settings": settings, "provenance": made}
    return {
        section: {
            name: coded(one.get(name) for one in lines) for name in dict.fromkeys(key for one in lines for key in one)
        }
        for section, lines in sections.items()
    }


def _summaries(rows: Sequence[Row]) -> dict[str, Measure]:
    """All that summaries say, by name, as the first agent that has it declares it."""
    found: dict[str, Measure] = {}
    for declared in {id(row.declared): row.declared for row in rows}.values():
        for name, measure in declared.summaries.items():
            found.setdefault(name, measure)
    return found


def _shown(rows: Sequence[Row]) -> dict[str, Measure]:
    """The summaries that have a column of their own: by which runs can be chosen, headlines first, and the cost."""
    declared = list({id(row.declared): row.declared for row in rows}.values())
    headlines = {each.headline: each.summaries[each.headline] for each in declared}
    chosen = {measure.name: measure for each in declared for measure in each.with_direction}
    cost = {name: measure for name, measure in _summaries(rows).items() if name in ("parameters", "seconds")}
    return {**headlines, **chosen, **cost}


def _measure(measure: Measure) -> dict[str, Any]:
    return {"title": measure.title, "unit": measure.unit, "scale": measure.scale, "places": measure.places}


def _in_unit(value: Any, measure: Measure) -> float | int | None:
    return rounded(value * measure.scale, 7) if _is_number(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
