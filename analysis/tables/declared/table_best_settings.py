"""Tables B2, E2, G4 and E9 to E11: the best settings from a store's searches, next to the paper's."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from analysis.conf import FOLDER, has
from analysis.names import NAMES, display
from analysis.reported import lines_of
from analysis.rows import Row
from analysis.setting_words import short_words
from analysis.tables.listing import NOTHING, Listing, fields
from analysis.tables.missing import NOT_HERE, TRAINING
from analysis.tables.selection import Found, Selected, provenance, selections_by, shown_label
from analysis.tables.table import Table, compared

Settings = Mapping[str, object]


def build(table: Table[Found], rows: Sequence[Row], metric_name: str | None) -> list[Found]:
    """One content for each protocol, schedule and metric of a selection; otherwise only the paper's settings."""
    activations = _activations(table)
    of_table = [row for row in table.about(rows) if row.activation in activations]
    return selections_by(
        of_table,
        metric_name,
        lambda selected: (selected.selection["protocol"], selected.selection["schedule"], selected.measure.name),
    )


def same(own: Settings, published: Settings) -> bool:
    """Whether our settings equal the published ones, for every published key."""
    ours = _function(own)
    return all(ours.get(name) == value for name, value in _function(published).items())


def _function(settings: Settings) -> Settings:
    """Settings with c / p instead of c and p, because only the quotient changes the function."""
    c, p = (settings.get(f"activation.{name}") for name in ("c", "p"))
    if not (isinstance(c, int | float) and isinstance(p, int | float)):
        return settings
    rest = {name: value for name, value in settings.items() if name not in ("activation.c", "activation.p")}
    return {**rest, "activation.c/p": float(f"{c / p:.12g}")}


def render(table: Table[Found], content: Found) -> Listing:
    """One line for each activation and one column for each benchmark, with the paper's settings next to ours."""
    (found, _), paper = content, _published(table)
    papers, activations = _benchmarks(table), _activations(table)
    ours = {(selected.label, selected.activation): selected for selected in found}
    benchmark_of = {selected.label: selected.selection["benchmark"] for selected in found}
    body = [[display(NAMES["activation"], activation)] for activation in activations]
    header, bold, lines = ["activation"], set(), []
    for label in _labels(papers, benchmark_of):
        benchmark = benchmark_of.get(label, label)
        printed = benchmark in papers
        header += [shown_label(label, benchmark), *["paper"] * printed]
        for place, activation in enumerate(activations):
            selected, theirs = ours.get((label, activation)), paper.get((benchmark, activation), {})
            if selected and theirs and same(selected.own, theirs):
                bold.add((place, len(body[place])))
            body[place].append(short_words(_shown(selected, theirs)) or NOTHING)
            body[place] += [short_words(theirs) or NOTHING] * printed
            name = {"table": table.name, "activation": activation, "benchmark": benchmark, "column": label}
            missing = None if selected else _command(table, benchmark)
            lines.append({**name, **_line(selected, theirs), "missing": missing})
    return Listing(
        name=table.name,
        title=_title(table, found),
        header=header,
        body=body,
        lines=lines,
        bold=frozenset(bold),
        is_ours=bool(found),
    )


def _labels(papers: Sequence[str], benchmark_of: Mapping[str, str]) -> list[str]:
    """The columns: the paper's benchmarks in its order, with one column for each study on them; then all others."""
    labels: list[str] = []
    for benchmark in papers:
        labels += sorted(label for label, name in benchmark_of.items() if name == benchmark) or [benchmark]
    return labels + [label for label, benchmark in sorted(benchmark_of.items()) if benchmark not in papers]


def _shown(selected: Selected | None, theirs: Settings) -> Settings:
    """The values of the settings that were varied, and of the settings that the paper names."""
    if selected is None:
        return {}
    return {name: value for name, value in selected.own.items() if name in selected.varied or name in theirs}


def _line(selected: Selected | None, theirs: Settings) -> dict[str, object]:
    """The columns of an activation on a benchmark in the CSV."""
    chosen = {choice: selected.selection[choice] for choice in ("protocol", "schedule")} if selected else {}
    return {
        **chosen,
        "settings": json.dumps(_shown(selected, theirs)) if selected else None,
        "paper_settings": json.dumps(theirs) if theirs else None,
        "as_published": same(selected.own, theirs) if selected and theirs else None,
        "metric": selected.measure.name if selected else None,
        **fields(selected.ours if selected else None, "mean", "sd"),
        "seeds": selected.bias.seeds if selected else None,
        "compared": selected.settings if selected else None,
    }


def _title(table: Table[Found], found: Sequence[Selected]) -> str:
    if not found:
        return table.title
    selection = found[0].selection
    return f"{table.title}, by {found[0].measure.title} ({selection['protocol']}, {selection['schedule']})"


def caption(table: Table[Found], content: Found) -> list[str]:
    """The searches without a best setting, the method of the others' choice, and the missing searches."""
    found, lost = content
    lines = [*lost]
    if found:
        seeds = sorted({selected.bias.seeds for selected in found})
        settings = sorted({selected.settings for selected in found})
        many = f"{settings[0]:,} to {settings[-1]:,}" if len(settings) > 1 else f"{settings[0]:,}"
        lines += provenance(found)
        lines.append(
            f"The best of {many} settings by the mean {found[0].measure.title} over "
            f"{' or '.join(map(str, seeds))} seeds, the first of equals; bold: as published. How much of their means "
            "is luck: `python -m analysis table selected`."
        )
    elif not lost:
        lines.append("No search of it yet; the paper's settings alone.")
    lines.append(f"Paper: reported in {table.source}.")
    there = {selected.selection["benchmark"] for selected in found}
    missing: dict[str, list[str]] = {}
    for benchmark in _benchmarks(table):
        if benchmark not in there:
            missing.setdefault(_command(table, benchmark), []).append(display(NAMES["benchmark"], benchmark))
    return lines + [f"Missing: {', '.join(names)}: {command}." for command, names in missing.items()]


def _command(table: Table[Found], benchmark: str) -> str:
    """The command of the search on a benchmark, or `NOT_HERE` if this version lacks the benchmark or intervention."""
    (intervention,) = table.only["intervention"]
    if not (has("benchmark", benchmark) and has("intervention", intervention)):
        return NOT_HERE
    preset = (table.experiment or "").format(benchmark=benchmark)
    if preset and has("experiment", preset):
        return f"{TRAINING} experiment={preset}"
    activations = table.only.get("activation")
    words = [] if intervention == "none" else [f"intervention={intervention}"]
    words += [f"activation={','.join(activations)}" if activations else "'activation=glob(*)'"]
    return " ".join([TRAINING, *words, f"benchmark={benchmark} hyperparams=grid seed=0,1,2,3,4"])


def _published(table: Table[Found]) -> dict[tuple[str, str], Settings]:
    """(benchmark, activation) → the published settings, by the keys of a command."""
    published = {}
    (intervention,) = table.only["intervention"]
    for line in (line for file in table.reported for line in lines_of(Path(file))):
        if line.get("intervention", intervention) != intervention:
            continue
        if line["activation"] in table.only.get("activation", [line["activation"]]):
            shape = json.loads(line.get("hyperparameters", "{}"))
            settings: dict[str, object] = {f"activation.{name}": value for name, value in shape.items()}
            if "strength" in line:
                settings["intervention.strength"] = float(line["strength"])
            published[line["benchmark"], line["activation"]] = {**settings, "optimizer.lr": float(line["lr"])}
    return published


def _benchmarks(table: Table[Found]) -> list[str]:
    """The benchmarks with printed settings, in the paper's order."""
    return list(dict.fromkeys(benchmark for benchmark, _ in _published(table)))


def _activations(table: Table[Found]) -> list[str]:
    """The activations of the table's `only`; if it names none, the paper's activations."""
    return list(table.only.get("activation") or dict.fromkeys(activation for _, activation in _published(table)))


_PUBLISHED = FOLDER / "published"
_E2 = (
    "relu", "leaky_relu", "sigmoid", "tanh", "rrelu", "prelu", "swish", "gelu", "celu", "elu", "selu", "crelu",
    "rational", "swiglu", "deep_fourier", "smooth_leaky", "rand_smooth_leaky",
)  # fmt: skip


def _table(number: str, title: str, file: str, preset: str = "", **only: Sequence[str]) -> Table[Found]:
    """A table of the best settings with one intervention.  preset: the end of its experiment's name."""
    return Table(
        name=f"table{number}",
        title=f"Table {number}: best settings{title}",
        build=build,
        render=render,
        caption=caption,
        measured=compared,
        reported=(_PUBLISHED / file,),
        source=f"Table {number}",
        only={"intervention": ("none",), **only},
        experiment=f"table{number}{preset}",
    )


TABLES = (
    _table(
        "B2", " on Split-CIFAR-100", "best_split_cifar100.csv", benchmark=("split_cifar100_joint", "split_cifar100")
    ),
    _table("E2", "", "best_supervised.csv", "_{benchmark}", activation=_E2),
    _table("G4", "", "best_supervised.csv", activation=("rselu", "bo_prelu")),
    *(
        _table(f"E{number}", f" with {name}", "best_with_interventions.csv", intervention=(name,))
        for number, name in enumerate(("l2_init", "snr", "ewc"), start=9)
    ),
)
