"""Tables of best settings: those that a store's searches find, beside those that the paper prints."""

import json
from collections.abc import Mapping, Sequence
from functools import partial

from analysis.conf import has
from analysis.names import NAMES, display
from analysis.reported.reported import FOLDER, lines_of
from analysis.rows import Row
from analysis.tables.listing import NOTHING, Listing
from analysis.tables.measured import compared
from analysis.tables.missing import NOT_HERE, TRAINING
from analysis.tables.selected import Found, provenance, words_of
from analysis.tables.selection import Selected, selections, without_winner
from analysis.tables.table import Table

Settings = Mapping[str, object]


def build(table: Table[Found], rows: Sequence[Row], metric_name: str | None) -> list[Found]:
    """One for each protocol, schedule and metric by which something was selected; else the paper's alone.

    Searches without a winner stand with the first.
    """
    activations = _activations(table, _published(table))
    of_table = [row for row in table.about(rows) if row.activation in activations]
    groups: dict[tuple[str, ...], list[Selected]] = {}
    for each in selections(of_table, metric_name):
        place = (each.selection["protocol"], each.selection["schedule"], each.measure.name)
        groups.setdefault(place, []).append(each)
    first, *others = groups.values() or [[]]
    return [(first, without_winner(of_table, metric_name)), *((found, []) for found in others)]


def same(own: Settings, published: Settings) -> bool:
    """Whether a setting is the published one, in everything that was published of it."""
    return all(_function(own).get(name) == value for name, value in _function(published).items())


def _function(settings: Settings) -> Settings:
    """Settings by what counts of them: c and p count through c / p alone, and a run has but one of its names."""
    c, p = (settings.get(f"activation.{name}") for name in ("c", "p"))
    if not (isinstance(c, int | float) and isinstance(p, int | float)):
        return settings
    rest = {name: value for name, value in settings.items() if name not in ("activation.c", "activation.p")}
    return {**rest, "activation.c/p": float(f"{c / p:.12g}")}


def render(table: Table[Found], of: Found) -> Listing:
    """A line for each activation, a column for each benchmark, with the paper's beside it."""
    (found, _), paper = of, _published(table)
    papers, activations = _benchmarks(paper), _activations(table, paper)
    ours = {(each.label, each.activation): each for each in found}
    benchmark_of = {each.label: each.selection["benchmark"] for each in found}
    # The paper's benchmarks in its order, each as often as runs of it differ in other settings; then all others.
    labels = [name for benchmark in papers for name in _labels_of(benchmark, benchmark_of) or [benchmark]]
    labels += [label for label, benchmark in sorted(benchmark_of.items()) if benchmark not in papers]
    body: list[list[str]] = [[display(NAMES["activation"], activation)] for activation in activations]
    header, bold, lines = ["activation"], set(), []
    for label in labels:
        benchmark = benchmark_of.get(label, label)
        printed = benchmark in papers
        header += [label.replace(benchmark, display(NAMES["benchmark"], benchmark), 1), *["paper"] * printed]
        for place, activation in enumerate(activations):
            each, theirs = ours.get((label, activation)), paper.get((benchmark, activation))
            if each and theirs and same(each.own, theirs):
                bold.add((place, len(body[place])))
            body[place].append(words_of(each.own, _shown(each, theirs)) if each else NOTHING)
            body[place] += [words_of(theirs, list(theirs)) if theirs else NOTHING] * printed
            lines.append(_line(table, activation, benchmark, label, each, theirs))
    return Listing(
        name=table.name,
        title=_title(table, found),
        header=header,
        body=body,
        lines=lines,
        bold=frozenset(bold),
        is_ours=bool(found),
    )


def _labels_of(benchmark: str, benchmark_of: Mapping[str, str]) -> list[str]:
    return sorted(label for label, of in benchmark_of.items() if of == benchmark)


def _shown(each: Selected, theirs: Settings | None) -> list[str]:
    """What was chosen, and what the paper names."""
    return [name for name in each.own if name in each.varied or name in (theirs or {})]


def _title(table: Table[Found], found: Sequence[Selected]) -> str:
    if not found:
        return table.title
    selection = found[0].selection
    return f"{table.title}, by {found[0].measure.title} ({selection['protocol']}, {selection['schedule']})"


def caption(table: Table[Found], of: Found) -> list[str]:
    """Which searches have no winner, how the others chose, and what is missing."""
    found, lost = of
    lines = [*lost]
    if found:
        seeds = sorted({each.bias.seeds for each in found})
        settings = sorted({each.settings for each in found})
        many = f"{settings[0]:,} to {settings[-1]:,}" if len(settings) > 1 else f"{settings[0]:,}"
        lines += provenance(found)
        lines.append(
            f"The best of {many} settings by the mean {found[0].measure.title} over "
            f"{' or '.join(map(str, seeds))} seeds, the first of equals; bold: as published. How much of their means "
            "is luck: `python -m analysis table selected`."
        )
    elif not lost:
        lines.append("No search of it yet; the paper's settings alone.")
    lines.append(f"Paper: what it reports in {table.source}.")
    there = {each.selection["benchmark"] for each in found}
    missing: dict[str, list[str]] = {}
    for benchmark in _benchmarks(_published(table)):
        if benchmark not in there:
            missing.setdefault(_command(table, benchmark), []).append(display(NAMES["benchmark"], benchmark))
    return lines + [f"Missing: {', '.join(names)}: {command}." for command, names in missing.items()]


def _command(table: Table[Found], benchmark: str) -> str:
    (intervention,) = table.only["intervention"]
    activations = table.only.get("activation", ())
    if not (has("benchmark", benchmark) and has("intervention", intervention)):
        return NOT_HERE
    preset = (table.experiment or "").format(benchmark=benchmark)
    if preset and has("experiment", preset):
        return f"{TRAINING} experiment={preset}"
    words = [] if intervention == "none" else [f"intervention={intervention}"]
    words += [f"activation={','.join(activations)}" if activations else "'activation=glob(*)'"]
    return " ".join([TRAINING, *words, f"benchmark={benchmark} hyperparams=grid seed=0,1,2,3,4"])


def _published(table: Table[Found]) -> dict[tuple[str, str], Settings]:
    """(benchmark, activation) → the published settings, by the keys of a command."""
    found = {}
    (intervention,) = table.only["intervention"]
    for line in (line for file in table.reported for line in lines_of(FOLDER / file)):
        if line.get("intervention", intervention) != intervention:
            continue
        shape = {f"activation.{name}": value for name, value in json.loads(line.get("hyperparameters", "{}")).items()}
        strength = {"intervention.strength": float(line["strength"])} if "strength" in line else {}
        if line["activation"] in table.only.get("activation", [line["activation"]]):
            found[line["benchmark"], line["activation"]] = {**shape, **strength, "optimizer.lr": float(line["lr"])}
    return found


def _line(
    table: Table[Found], activation: str, benchmark: str, label: str, each: Selected | None, theirs: Settings | None
) -> dict[str, object]:
    return {
        "table": table.name,
        "activation": activation,
        "benchmark": benchmark,
        "column": label,
        **({"protocol": each.selection["protocol"], "schedule": each.selection["schedule"]} if each else {}),
        "settings": json.dumps({name: each.own[name] for name in _shown(each, theirs)}) if each else None,
        "paper_settings": json.dumps(theirs) if theirs else None,
        "as_published": same(each.own, theirs) if each and theirs else None,
        "metric": each.measure.name if each else None,
        "mean": each.ours.mean if each else None,
        "sd": each.ours.sd if each else None,
        "seeds": each.bias.seeds if each else None,
        "compared": each.settings if each else None,
        "missing": None if each else _command(table, benchmark),
    }


def _benchmarks(paper: Mapping[tuple[str, str], Settings]) -> list[str]:
    """Those that the paper prints settings of, in its order."""
    return list(dict.fromkeys(benchmark for benchmark, _ in paper))


def _activations(table: Table[Found], paper: Mapping[tuple[str, str], Settings]) -> list[str]:
    """The rows: those that the table names, else the paper's."""
    return list(table.only.get("activation") or dict.fromkeys(activation for _, activation in paper))


settings = partial(Table, build=build, render=render, caption=caption, measured=compared)
"""A table of best settings of the runs with one intervention, beside those that the paper prints."""
