"""hyperparams=selected: a store's best settings, reported on seeds that took no part in the selection.

The candidates of a place are the store's finished runs. They differ from the command's runs only in seeds and in
selected settings: the activation's shape, the learning rate and the intervention's strength, each unless it is typed.
Runs that were only ever asked for as `selected` report a selection, and are no candidates.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from analysis.outcomes import why_none
from analysis.statistics.selection import best_setting
from launch.runs.groups import COMPONENTS, DIAGNOSTICS
from launch.runs.options import Options
from launch.runs.settings import Numbers
from launch.runs.values.candidates import Candidate, Candidates, Seeds, Study, differing, effective
from launch.runs.values.place import Combination, FoundValues, unpinned
from launch.runs.words import spelled
from plasticity_lab import component
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.measures import Measure
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import measures_of
from plasticity_lab.run import group_of

if TYPE_CHECKING:  # torch: a mistake need not wait for it
    from plasticity_lab.diagnostics.diagnostic import Diagnostic

HEADLINE = "headline"
"""The word for the agent's main metric."""


OTHERS = {
    "waiting": "are planned and not finished",
    "failed": "failed",
    "stopped": "were stopped early by a search",
}
"""Status of a run that is no candidate → its words in a note."""


@dataclass(frozen=True)
class Winner:
    """The best setting: its runs on the seeds that took part, and their mean.

    settings: how many were compared. left_out: how many were not, because they lack some of these seeds.
    """

    runs: Sequence[Candidate]
    mean: float
    settings: int
    left_out: int


class Selection:
    """The winners for the places of one command.  numbers: the command's seeds."""

    def __init__(self, options: Options, store: Store, numbers: Sequence[Numbers]) -> None:
        self._candidates, self._store, self._numbers = Candidates(options, store), store, numbers
        self._won: dict[str, list[str]] = defaultdict(list)
        self._lost: dict[str, list[str]] = defaultdict(list)
        self._ended: dict[str, set[str]] = {status: set() for status in OTHERS}

    def found(self, place: Combination) -> Iterator[FoundValues]:
        """The settings of the place's winner.  Raises ConfigError for a seed that helped to select it."""
        measure = chosen(place)
        metric = measure.name
        activation, benchmark = place.activation.name, place.benchmark.name
        study = self._candidates.study_of(place, self._numbers[0].precision)
        known = self._candidates.of(activation, benchmark)
        comparable = [candidate for candidate in known if not differing(candidate, study)]
        winner = best([candidate for candidate in comparable if candidate.finished], metric, measure.better)
        if winner is None:
            self._lost[f"on {benchmark}, where {_why_not(known, study, metric)}"].append(activation)
            return
        for status, runs in self._ended.items():
            runs |= {candidate.run for candidate in comparable if candidate.status == status}
        seeds = sorted({run.seeds[0] for run in winner.runs})
        self._check_fresh([run.seeds for run in winner.runs], f"{activation} on {benchmark}")
        lacking = f" ({winner.left_out:,} more lack some of these seeds)" if winner.left_out else ""
        how = f"by {metric} on {benchmark}, {_seeds(seeds)}"
        self._won[how].append(f"{activation} of {winner.settings:,}{lacking}")
        selected = {
            "metric": metric,
            "mean": winner.mean,
            "settings": winner.settings,
            "seeds": seeds,
            "runs": [run.run for run in winner.runs],
        }
        yield FoundValues(unpinned(winner.runs[0].settings, place), {"selected_by": selected})

    def notes(self) -> list[str]:
        """The selections, and how many settings were compared.  Raises ConfigError if there are no candidates."""
        lines = [f"hyperparams: a record was left out: {error}" for error in self._candidates.corrupt]
        if self._lost:
            misses = "; ".join(f"{', '.join(dict.fromkeys(names))} {where}" for where, names in self._lost.items())
            none = f"hyperparams=selected: the store {self._store.root} has no candidates for {misses}"
            raise ConfigError(f"{none}; the same command with hyperparams=grid trains some.")
        lines += [f"hyperparams: best {how}: {'; '.join(names)} settings." for how, names in self._won.items()]
        for status, runs in self._ended.items():
            if runs:
                lines.append(f"hyperparams: {len(runs):,} more of these runs {OTHERS[status]}.")
        return lines

    def _check_fresh(self, used: Sequence[Seeds], where: str) -> None:
        """Raises ConfigError if a run's tasks, or its weights and noise, took part in the selection."""
        for asked in self._numbers:
            for name, at in (("stream_seed", 1), ("init_seed", 2)):
                seed = effective(asked)[at]
                taken = sorted({seeds[at] for seeds in used})
                if seed in taken:
                    key = "seed" if getattr(asked, name) is None else name
                    free = f"{key}={','.join(str(taken[-1] + more) for more in (1, 2, 3))}"
                    why = f"{key}={seed} took part in selecting {where} ({_seeds(taken)})"
                    raise ConfigError(f"{why}; hyperparams=selected reports on fresh seeds, as in {free}.")


def chosen(place: Combination) -> Measure:
    """The summary that compares the place's settings: one with a direction, from its agent or its diagnostics.

    Raises ConfigError.
    """
    agent, metric = place.parts["agent"], place.rule.metric
    declared = measures_of({"agent": agent.target or ""}, place.nodes).declared
    known = {measure.name: measure for measure in declared.with_direction}
    if metric != HEADLINE and metric not in known:
        seen = {measure.name: measure for measure in _seen(place) if measure.better}
        if metric in seen:
            return seen[metric]
        known |= seen
        there = ", ".join([HEADLINE, *known])
        raise ConfigError(f"hyperparams.metric is '{metric}'; agent={agent.name} can be compared by {there}.")
    return declared.summaries[declared.headline if metric == HEADLINE else metric]


def _seen(place: Combination) -> Iterator[Measure]:
    """The measures of the place's diagnostics for the whole network."""
    for address, option in place.parts.items():
        if group_of(address) == DIAGNOSTICS and option.name != COMPONENTS[DIAGNOSTICS].neutral:
            built = component.build(DIAGNOSTICS, option.name, option.target or "", place.nodes[address])
            yield from (column.measure for column in cast("Diagnostic", built).columns([]))


def best(candidates: Sequence[Candidate], metric: str, better: str = "more") -> Winner | None:
    """The setting with the best mean of the metric over seeds; None if no setting has the metric.

    `best_setting`, which analysis uses too, decides which seeds count and which of equal settings wins.
    """
    runs: dict[str, dict[Seeds, Candidate]] = defaultdict(dict)
    for candidate in candidates:
        runs[candidate.function][candidate.seeds] = candidate
    values = {}
    for function, by_seed in runs.items():
        values[function] = {seeds: run.summary.get(metric) for seeds, run in by_seed.items()}
    winner = best_setting(values, better)
    if winner is None:
        return None
    return Winner([runs[winner.setting][each] for each in winner.seeds], winner.mean, winner.settings, winner.left_out)


def _why_not(known: Sequence[Candidate], study: Study, metric: str) -> str:
    finished = [candidate for candidate in known if candidate.finished]
    if not finished:
        why = why_none([(candidate.status, candidate.summary) for candidate in known], metric)
        return f"none of their runs is finished{f' ({why})' if why else ''}"
    differences = min((differing(candidate, study) for candidate in finished), key=len)
    if not differences:
        comparable = [candidate for candidate in known if not differing(candidate, study)]
        why = why_none([(candidate.status, candidate.summary) for candidate in comparable], metric)
        return f"none of their settings has a value of {metric} on each seed: {why}"
    words = ", ".join(f"{key}={spelled(has)} instead of {spelled(wants)}" for key, (has, wants) in differences.items())
    return f"the nearest of their runs have {words}"


def _seeds(seeds: Sequence[int]) -> str:
    return f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))}"
