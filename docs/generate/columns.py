"""The page of the numbers of a run: columns of metrics.parquet and values of a summary, as the classes declare them."""

from collections.abc import Iterable, Sequence

from docs.generate.conf_files import option_files
from docs.generate.definitions import defined_by
from docs.generate.markdown import code, plain, table
from launch.runs.options import option_of
from plasticity_lab.assays.readings import own_columns
from plasticity_lab.component import build, load
from plasticity_lab.networks.network import Unit
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.measures import EVERY_SUMMARY, Column, Measure, Measures
from plasticity_lab.records.task_matrix import READ_OFF, with_matrix

ADDRESS = "reference/columns.md"
COLUMNS = ("column", "meaning", "unit", "better", "rows")
SUMMARIES = ("value", "meaning", "unit", "better")
UNIT = Unit("hidden1", (100,), "hidden1", ("output",))
"""A layer, for the columns that diagnostics have for each layer."""
FIRST = {
    "kind": "what the row is about: epoch, task, episode, or pair (the performance on another task)",
    "task": "the position of the task, from 0",
    "epoch": "the epoch within the task, from 0; empty in rows of tasks",
    "step": "the run's step when the row's event ended",
}
MARKS = {
    "hard": "whether the task counts for the summary; alternating benchmarks have easy tasks too",
    "body": "the position of the environment among the benchmark's environments",
    "cycle": "how often all environments have come before",
}


def pages() -> dict[str, str]:
    """Address below docs/pages → Markdown."""
    parts = [
        "# Columns and summaries\n\nThe numbers of a run: rows of `metrics.parquet` and the `summary` of `record.json` "
        "([the store](store.md)). Each record also holds the declarations of its own numbers. A row is the mean of an "
        "epoch or a task, the last epoch's value, or a value measured when the row's event ended.",
        "## Every run",
        table(("column", "meaning"), [[code(name), text] for name, text in FIRST.items()]),
        _summaries(EVERY_SUMMARY),
    ]
    for names, measures in _agents():
        parts += [f"## Columns of {', '.join(names)}", _columns(measures.columns), _marks(measures)]
    for names, measures in _with_one_summary(_agents()):
        headline = f"The main metric is `{measures.headline}`."
        definitions = {name: text.partition(". ")[0] for name, text in defined_by(measures.summarise).items()}
        parts += [f"## Summary of {', '.join(names)}", headline, _summaries(measures.summaries, definitions)]
    matrix = with_matrix(CLASSIFIER)
    parts += ["## With benchmark.eval_matrix=true", _columns(_new(matrix.columns, CLASSIFIER.columns))]
    parts += [_summaries([*_new(matrix.summaries, CLASSIFIER.summaries), *_new(READ_OFF.values(), matrix.summaries)])]
    shocked = _shocked()
    parts += ["## With perturbation=shocks", _columns(_new(shocked.columns, CLASSIFIER.columns))]
    parts += [_summaries(_new(shocked.summaries, CLASSIFIER.summaries))]
    parts += [
        "## Interventions",
        "The last value is in the summary too.",
        _of_options("intervention", _interventions()),
    ]
    parts += [
        "## Diagnostics",
        "Columns that end in `_hidden1` exist for each layer, under its name. The summary has the last task's values. "
        "For agents with several networks, the network's name comes first.",
        _of_options("diagnostics", _diagnostics()),
    ]
    parts += [
        "## Assays",
        "In the runs of an assay; as columns of the aged run, the assay's name comes first: `fresh_labels_loss_gap`. "
        "[Assays](assays.md) without labels have no accuracies, and some have no test.",
        _columns(own_columns()),
    ]
    return {ADDRESS: "\n\n".join(part for part in parts if part) + "\n"}


def _agents() -> list[tuple[list[str], Measures]]:
    """The agents with the same measures, and these."""
    found: dict[int, tuple[list[str], Measures]] = {}
    for option in option_files("agent"):
        if "_target_" in option.content:
            agent = load(option.content["_target_"])
            measures = agent.measures  # pyright: ignore[reportAttributeAccessIssue]
            found.setdefault(id(measures), ([], measures))[0].append(option.name)
    return list(found.values())


def _with_one_summary(agents: list[tuple[list[str], Measures]]) -> list[tuple[list[str], Measures]]:
    """The same, with agents of one summary together."""
    found: dict[int, tuple[list[str], Measures]] = {}
    for names, measures in agents:
        found.setdefault(id(measures.summaries), ([], measures))[0].extend(names)
    return list(found.values())


def _marks(measures: Measures) -> str:
    return table(("column", "meaning"), [[code(name), MARKS[name]] for name in measures.marks])


def _shocked() -> Measures:
    option = next(each for each in option_files("perturbation") if each.name == "shocks")
    settings = {key: value for key, value in option.content.items() if key != "_target_"}
    kind = load(option.content["_target_"])
    return kind.measures(CLASSIFIER, settings)  # pyright: ignore[reportAttributeAccessIssue]


def _interventions() -> dict[str, Sequence[Column]]:
    return {each.name: load(each.content["_target_"]).columns for each in option_files("intervention")}  # pyright: ignore


def _diagnostics() -> dict[str, Sequence[Column]]:
    return {name: made.columns([UNIT]) for name, made in _built("diagnostics").items()}


def _built(group: str) -> dict:
    """The options of a group that name a class, as components with their default settings."""
    read = [option_of(group, each.name, each.content) for each in option_files(group)]
    return {
        each.name: build(group, each.name, each.target, each.settings)
        for each in read
        if each.target and each.name != "none"
    }


def _of_options(group: str, columns: dict[str, Sequence[Column]]) -> str:
    rows = [
        [f"[{name}](options/{group}.md#{name})", *_cells(column.measure), _rows(column)]
        for name, own in columns.items()
        for column in own
    ]
    return table((group, *COLUMNS), rows)


def _columns(columns: Sequence[Column]) -> str:
    return table(COLUMNS, [[*_cells(each.measure), _rows(each)] for each in columns]) if columns else ""


def _summaries(measures: Iterable[Measure], definitions: dict[str, str] | None = None) -> str:
    known = definitions or {}
    rows = []
    for each in measures:
        name, title, *others = _cells(each)
        meaning = f"{title}: {plain(known[each.name], ADDRESS)}" if each.name in known else title
        rows.append([name, meaning, *others])
    return table(SUMMARIES, rows) if rows else ""


def _cells(measure: Measure) -> list[str]:
    unit = measure.unit + (f" (stored as a fraction, × {measure.scale:g})" if measure.scale != 1 else "")
    return [code(measure.name), plain(measure.title, ADDRESS), unit, measure.better]


def _rows(column: Column) -> str:
    return ", ".join(f"{kind}: {taken}" for kind, taken in column.taken.items())


def _new(found: Iterable, before: Iterable) -> list:
    known = {each.name for each in before}
    return [each for each in found if each.name not in known]
