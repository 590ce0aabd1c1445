"""The searches of the report: for each study, Optuna's plots of its history, importances and trials."""

import html
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.report.sections import Figure, Section
from plasticity_lab.errors import StoreError
from plasticity_lab.records.searches.batches import Results, Trial
from plasticity_lab.records.searches.space import Range
from plasticity_lab.records.searches.studies import StoredStudy, optuna_study, searches_of, studies_of
from plasticity_lab.records.store import Store

if TYPE_CHECKING:
    from optuna import Study

FEWEST = 2
"""The minimum number of complete trials for a figure: one trial alone cannot be compared."""
HEIGHT = 440
WITHOUT = "Optuna and Plotly draw searches; `pip install -e '.[search,report]'` in the clone installs both."
AXIS = {"title": {"text": ""}}
"""An empty title: the page reads the titles of axes, and some of Optuna's plots have none."""


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
