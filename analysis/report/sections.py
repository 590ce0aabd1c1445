"""The figures of the report: one section for each agent on each benchmark, and one for figures across sections."""

import html
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.compare.comparison import Comparison
from analysis.figures.drawing import Asked, Drawing
from analysis.figures.named import FIGURES
from analysis.figures.sensitivity import varied
from analysis.names import BENCHMARKS, display
from analysis.report.interventions import figure as interventions_figure
from analysis.report.plotly_figure import charts
from analysis.rows import Row, grouped
from analysis.tables.table import Metrics
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.searches.batches import Results, Trial
from plasticity_lab.records.searches.space import Range
from plasticity_lab.records.searches.studies import StoredStudy, optuna_study, searches_of, studies_of
from plasticity_lab.records.store import Store

ORDER = (
    "first_last", "curves", "figure6", "figureF1", "figureE1", "two_orders", "figure1", "figureC1", "figureC2",
    "figureC3", "figure2", "figure3", "figure4", "figureD1", "atari",
)  # fmt: skip
"""The order of the figures. Other measurements come after `CURVES`; the effects of varied settings come last."""
CURVES = "curves"
MOST_CURVES, MOST_SETTINGS = 8, 6
"""The maximum numbers of columns of metrics with curves, and of settings with a figure of their sensitivity."""
ACROSS = "Across benchmarks and agents"
INTERVENTIONS = "interventions"
if TYPE_CHECKING:
    from optuna import Study

FEWEST = 2
"""The minimum number of complete trials for a figure: one trial alone cannot be compared."""
HEIGHT = 440
WITHOUT = "Optuna and Plotly draw searches; `pip install -e '.[search,report]'` in the clone installs both."
AXIS = {"title": {"text": ""}}
"""An empty title: the page reads the titles of axes, and some of Optuna's plots have none."""


@dataclass(frozen=True)
class Figure:
    """A figure of the report.  charts: Plotly charts, side by side. caption: its sentences."""

    title: str
    charts: Sequence[dict[str, Any]]
    caption: Sequence[str]


@dataclass(frozen=True)
class Section:
    """A section of the report.  title: "" if a store needs only one section."""

    title: str
    figures: Sequence[Figure]


def sections(rows: Sequence[Row], metrics: Metrics, interventions: Comparison | None = None) -> list[Section]:
    """The sections with a figure; the figures that need the runs of several sections come first.

    interventions: compared with each other, for the first figure.
    """

    def title_of(row: Row) -> str:
        return f"{row.study.get('agent.name', '')} · {display(BENCHMARKS, row.benchmark)}".removeprefix(" · ")

    groups = grouped(rows, title_of)
    if len(groups) < 2:
        made = {"": _figures(rows, metrics, varied(rows))}
    else:
        made = {title: _figures(group, metrics, varied(group)) for title, group in sorted(groups.items())}
        known = {name for figures in made.values() for name in figures}
        made = {ACROSS: _figures(rows, metrics, (), leaving_out=known), **made}
    if interventions:
        drawn = interventions_figure(interventions, metrics)
        first = ACROSS if ACROSS in made else ""
        if drawn.panels:
            made[first] = {INTERVENTIONS: Figure(drawn.title, charts(drawn), drawn.caption), **made[first]}
    return [Section(title, [*figures.values()]) for title, figures in made.items() if figures]


def _figures(
    rows: Sequence[Row], metrics: Metrics, settings: Sequence[str], leaving_out: Collection[str] = ()
) -> dict[str, Figure]:
    """Name → figure, for every figure that the runs can make; a figure has the same name in all sections.

    settings: the varied settings. leaving_out: the names of figures to leave out.
    """
    found: dict[str, Figure] = {}
    of_rows = Asked(rows, metrics)
    asked = [(name, FIGURES[name], of_rows) for name in ORDER]
    for name in settings[:MOST_SETTINGS]:
        asked.append((f"sensitivity to {name}", FIGURES["sensitivity"], replace(of_rows, by=name)))
    for name, figure, of in asked:
        if name not in leaving_out and (drawing := _drawn(figure, of)):
            found[name] = Figure(drawing.title, charts(drawing), drawing.caption)
        if name == CURVES and CURVES in found and (others := _other_curves(of_rows)):
            found["other curves"] = others
    if more := settings[MOST_SETTINGS:]:
        words = f"`python -m analysis figure sensitivity --by` draws them: {', '.join(more)}."
        found["more settings"] = Figure("Sensitivity to other settings", [], [words])
    return found


def _other_curves(asked: Asked) -> Figure | None:
    """The curves of all other measurements of the runs, diagnostics included; None if the runs have no others."""
    columns = {column.name: column for row in asked.rows for column in row.declared.curves[1:]}
    first = {row.declared.curves[0].name for row in asked.rows if row.declared.curves}
    names = [name for name in columns if name not in first]
    drawings = [_drawn(FIGURES[CURVES], replace(asked, metric=name)) for name in names[:MOST_CURVES]]
    drawn = [drawing for drawing in drawings if drawing]
    if not drawn:
        return None
    caption = list(dict.fromkeys(sentence for drawing in drawn for sentence in drawing.caption))
    if more := names[MOST_CURVES:]:
        caption.append(f"`python -m analysis figure curves --metric` draws more: {', '.join(more)}.")
    shown = []
    for drawing in drawn:  # the title of each panel names the measurement
        panels = [replace(panel, title=f"{panel.y_label}: {panel.title}") for panel in drawing.panels]
        shown += charts(replace(drawing, panels=panels))
    return Figure("Further measurements during runs", shown, caption)


def _drawn(figure: Callable[[Asked], Drawing], asked: Asked) -> Drawing | None:
    """The drawing; None if no run has values for it."""
    try:
        drawing = figure(asked)
    except ConfigError:
        return None
    return drawing if any(series.x for panel in drawing.panels for series in panel.series) else None


# The searches: for each study, Optuna's plots of its history, importances and trials.


def search_sections(places: Sequence[Path], runs: Collection[str], told: Callable[[str], None]) -> list[Section]:
    """A section for each search of the stores with a trial among the runs.

    told: called with a sentence for each search that cannot be read.
    """
    found = []
    for store in (Store(place) for place in places if place.is_dir()):
        results = Results(store)
        for search in _ids(store, told):
            try:
                studies = studies_of(store, search)
                if any(run in runs for study in studies for trial in study.trials for run in trial.runs):
                    title = f"Search {search}{f' in {store.root}' if len(places) > 1 else ''}"
                    found.append(Section(title, [_figure(study, results) for study in studies]))
            except StoreError as error:
                told(str(error))
    return found


def _ids(store: Store, told: Callable[[str], None]) -> list[str]:
    try:
        return searches_of(store)
    except StoreError as error:
        told(str(error))
        return []


def _figure(study: StoredStudy, results: Results) -> Figure:
    try:
        from optuna import visualization
    except ModuleNotFoundError:
        return Figure(study.name, [], [WITHOUT])
    if not visualization.is_available():
        return Figure(study.name, [], [WITHOUT])
    from optuna.trial import TrialState

    words = {
        TrialState.COMPLETE: "complete", TrialState.PRUNED: "stopped early or diverged",
        TrialState.FAIL: "failed or refused", TrialState.RUNNING: "not ended",
    }  # fmt: skip
    made = optuna_study(_escaped(study), results)
    states = [trial.state for trial in made.get_trials(deepcopy=False)]
    counts = [f"{states.count(state)} {what}" for state, what in words.items() if state in states]
    caption = [f"Trials: {', '.join(counts)}.", f"Trials are compared by {study.metric}, as a mean over their seeds."]
    if states.count(TrialState.COMPLETE) < FEWEST:
        return Figure(study.name, [], [*caption, f"Figures need {FEWEST} complete trials."])
    caption.append("Importances: PED-ANOVA, over the complete trials. Trials are numbered from 0, as Optuna does.")
    return Figure(study.name, list(_charts(made, html.escape(study.metric))), caption)


def _charts(study: "Study", metric: str) -> Iterator[dict[str, Any]]:
    from optuna.importance import PedAnovaImportanceEvaluator
    from optuna.visualization import plot_optimization_history, plot_parallel_coordinate, plot_param_importances

    drawn = {
        "Optimisation history": plot_optimization_history(study, target_name=metric),
        "Parameter importances": plot_param_importances(
            study, evaluator=PedAnovaImportanceEvaluator(), target_name=metric
        ),
        "Parallel coordinates": plot_parallel_coordinate(study, target_name=metric),
    }
    for title, figure in drawn.items():
        chart = json.loads(str(figure.to_json()))
        layout = {key: of for key, of in chart["layout"].items() if key != "template"}
        layout |= {axis: AXIS | layout.get(axis, {}) for axis in ("xaxis", "yaxis")}
        layout |= {"title": {"text": title}, "height": HEIGHT, "margin": {"l": 60, "r": 10, "t": 45, "b": 50}}
        yield {"data": chart["data"], "layout": layout}


def _escaped(study: StoredStudy) -> StoredStudy:
    """The study with all its words escaped, because Plotly reads tags in all its texts."""

    def trial(of: Trial) -> Trial:
        return replace(of, values={_words(name): _words(value) for name, value in of.values.items()})

    space = {
        _words(name): of if isinstance(of, Range) else [_words(value) for value in of]
        for name, of in study.space.items()
    }
    return replace(study, space=space, trials=[trial(each) for each in study.trials])


def _words(value: Any) -> Any:
    if isinstance(value, str):
        return html.escape(value, quote=False)
    if isinstance(value, list):
        return [_words(each) for each in value]
    if isinstance(value, dict):
        return {_words(name): _words(each) for name, each in value.items()}
    return value
