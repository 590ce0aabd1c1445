"""The runs of a store as candidates for `hyperparams=selected`: common and differing settings, and results."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from launch.runs.desk import Desk, Part, run_of
from launch.runs.groups import COMPONENTS, SCIENCE
from launch.runs.options import Options
from launch.runs.settings import Numbers
from launch.runs.values.place import Combination, Values
from plasticity_lab import component
from plasticity_lab.errors import ConfigError, StoreError
from plasticity_lab.records.identity import canonical_json
from plasticity_lab.records.plan import Plan, all_plans
from plasticity_lab.records.settings import checked
from plasticity_lab.records.store import Store

SELECTED = "selected"
CHOSEN = {"optimizer": ("lr",), "intervention": ("strength",)}
"""Group → its settings that are selected; all settings of the activation are, too."""

COMPARED = ("run", "science", "asked_as", "status", "summary")
"""The keys of a record that are read."""

Seeds = tuple[int, int, int]
"""seed, stream_seed and init_seed; the last two equal the first unless they are set."""
Study = dict[str, Any]
"""All that runs must share to be compared, as dotted keys."""
Entry = Mapping[str, Any]
"""The keys COMPARED of a record, or of a planned run."""


@dataclass(frozen=True)
class Candidate:
    """A finished or planned run.

    settings: the selected ones. function: equal for settings that are the same function. summary: from its record;
    empty if it diverged or is not finished. status: from its record; waiting if it has none.
    """

    run: str
    study: Study
    settings: Values
    function: str
    seeds: Seeds
    summary: Mapping[str, float]
    status: str

    @property
    def finished(self) -> bool:
        """Whether it is done or diverged, and not trained again."""
        return self.status in ("done", "diverged")


class Candidates:
    """The candidates of a store, which is read once.

    options: the current ones; a run counts if they still give it the same id. corrupt: the errors of unreadable
    records.
    """

    def __init__(self, options: Options, store: Store) -> None:
        self._options, self._store, self._desk = options, store, Desk()
        self.corrupt: Sequence[StoreError] = ()
        self._held: dict[tuple[str, str], list[Entry]] | None = None
        self._read: dict[tuple[str, str], list[Candidate]] = {}

    def of(self, activation: str, benchmark: str) -> Sequence[Candidate]:
        """The candidates with an activation and a benchmark.  Raises StoreError."""
        from plasticity_lab.records.record import records_of
        from plasticity_lab.records.record_facts import CorruptRecord  # pyarrow: most commands need not wait for it

        key = (activation, benchmark)
        if self._held is None:
            corrupt: list[CorruptRecord] = []
            records = records_of(self._store, corrupt)
            # The command that plans the runs names unreadable plans.
            self._held = _held(records, all_plans(self._store, unreadable=[]))
            self.corrupt = corrupt
        if key not in self._read:
            candidates = (self._candidate(record) for record in self._held.get(key, ()))
            self._read[key] = [candidate for candidate in candidates if candidate is not None]
        return self._read[key]

    def study_of(self, place: Combination, precision: str) -> Study:
        """The settings that a candidate must share with a place: all except selected ones that are not typed.

        Raises ConfigError for a wrong value on the command line.
        """
        parts = {}
        for group in (group for group in SCIENCE if group != "activation"):
            option = place.parts[group]
            parts[group] = self._desk.part(group, option.name, option.target or "", place.nodes[group])
        study = {"activation.name": place.activation.name, **_study(parts, precision)}
        for group in ("activation", *CHOSEN):
            part = place.parts[group]
            typed = component.typed(component.load(part.target or ""), group, part.name, place.nodes[group])
            names = typed if group == "activation" else CHOSEN[group]
            study |= {f"{group}.{name}": typed[name] for name in names if f"{group}.{name}" in place.pinned}
        return study

    def _candidate(self, record: Entry) -> Candidate | None:
        """A record, or a planned run, as a candidate; None if today's code would not run it under its id."""
        science = record["science"]
        try:
            parts = {group: self._part(group, _choice_of(science, group)) for group in SCIENCE}
            seeds = checked(Numbers, {key: science.get(key) for key in Numbers.model_fields})
            if run_of(parts, seeds, {}).id != record["run"]:
                return None
        except (ConfigError, KeyError):
            return None  # its option or one of its settings no longer exists
        chosen = {}
        for group, names in CHOSEN.items():
            chosen[group] = {name: value for name, value in parts[group].science.items() if name in names}
        shape = {name: value for name, value in parts["activation"].science.items() if name != "name"}
        return Candidate(
            run=record["run"],
            study={"activation.name": science["activation"]["name"], **_study(parts, seeds.precision)},
            settings={"activation": shape, **chosen},
            function=canonical_json([parts["activation"].canonical, chosen]),
            seeds=effective(seeds),
            summary=record["summary"] if record["status"] == "done" else {},
            status=record["status"],
        )

    def _part(self, group: str, science: Mapping[str, Any]) -> Part:
        option = self._options.option(group, science["name"])
        settings = {name: value for name, value in science.items() if name != "name"}
        return self._desk.part(group, option.name, option.target or "", settings)


def effective(seeds: Numbers) -> Seeds:
    """The seeds in effect: stream_seed and init_seed follow seed unless they are set."""
    stream_seed, init_seed = (seeds.seed if each is None else each for each in (seeds.stream_seed, seeds.init_seed))
    return seeds.seed, stream_seed, init_seed


def differing(candidate: Candidate, study: Study) -> dict[str, tuple[Any, Any]]:
    """The differences between a candidate and a place's study: dotted key → the candidate's and the wanted value."""
    selected = {f"{group}.{name}": value for group, each in candidate.settings.items() for name, value in each.items()}
    # Selected settings are compared only if they are typed, and so are in the place's study.
    theirs = {**{key: value for key, value in selected.items() if key in study}, **candidate.study}
    pairs = {key: (theirs.get(key), study.get(key)) for key in sorted(theirs.keys() | study.keys())}
    return {key: (one, other) for key, (one, other) in pairs.items() if one != other}


def _held(records: Iterable[Entry], plans: Iterable[Plan]) -> dict[tuple[str, str], list[Entry]]:
    """(activation, benchmark) → records, and planned runs that have none; no reports of a selection."""
    # A whole record is many times as large as its compared keys.
    runs = {record["run"]: {key: record[key] for key in COMPARED} for record in records}
    for plan in plans:
        for run in plan.runs.values():
            runs.setdefault(run.id, {**run.as_json(), "run": run.id, "status": "waiting"})
    held: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for run in runs.values():
        if any(asked.get("hyperparams") != SELECTED for asked in run["asked_as"]):
            held[run["science"]["activation"]["name"], run["science"]["benchmark"]["name"]].append(run)
    return held


def _choice_of(science: Mapping[str, Any], group: str) -> Mapping[str, Any]:
    """The settings of a group in a run; for a group that is newer than the run, the option that changes no id."""
    neutral = COMPONENTS[group].neutral
    return science[group] if group in science or neutral is None else {"name": neutral}


def _study(parts: Mapping[str, Part], precision: str) -> Study:
    study: Study = {"precision": precision}
    for group, part in parts.items():
        if group != "activation":
            settings = {"name": part.science["name"], **(part.canonical or {})}
            study |= {f"{group}.{key}": of for key, of in settings.items() if key not in CHOSEN.get(group, ())}
    return study
