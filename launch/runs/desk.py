"""Resolved runs: everything that can change a run's numbers, typed and checked, with the run's id."""

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from launch.runs import classes
from launch.runs.groups import COMPONENTS
from launch.runs.settings import Numbers
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.identity import run_id_of, spelled
from plasticity_lab.run import JOINED, Run, group_of, option_of


@dataclass(frozen=True)
class Part:
    """One component of a run, typed and checked; `canonical` holds its settings as the id sees them, or None."""

    target: str
    science: Mapping[str, Any]
    canonical: Mapping[str, Any] | None


class Desk:
    """Checks each distinct setting of a component once, before anything is queued: its names, types and ranges."""

    def __init__(self) -> None:
        self._checked: dict[str, Part] = {}
        self._fit = set[tuple[str | int, ...]]()
        self._groups_read = functools.cache(classes.objects_to)
        self._designs: dict[str, str | None] = {}

    def part(self, group: str, name: str, target: str, settings: Mapping[str, Any]) -> Part:
        """The component's settings as science.  Raises ConfigError for a setting it does not have or cannot take."""
        # Unlike the keys of a dictionary, JSON distinguishes 1, 1.0 and true.
        key = json.dumps([group, name, target, settings], default=repr)
        if key not in self._checked:
            typed = classes.typed(target, group, name, settings)
            is_neutral = COMPONENTS[group].neutral == name
            canonical = None if is_neutral else {"name": name, **classes.canonical_of(target, typed)}
            self._checked[key] = Part(target, {"name": name, **typed}, canonical)
        return self._checked[key]

    def check_fit(self, parts: Mapping[str, Part]) -> None:
        """Raises Misfit, with the first reason, if a component does not go with others, or no network fits them.

        parts: made by this desk.
        """
        chosen = {address: (part.target, part.science) for address, part in parts.items()}
        for address, part in parts.items():
            groups = self._groups_read(part.target)
            if not groups:
                continue
            read = [other for other in parts if other == address or group_of(other) in groups]
            key = (address, *(id(parts[other]) for other in read))  # each distinct part is kept, and so is its id
            if key in self._fit:
                continue
            objection = classes.objection(address, {other: chosen[other] for other in read})
            if objection is not None:
                why, named = objection
                refused = [other for other in read if group_of(other) in (named or groups)]
                raise Misfit(_sentence(address, why, refused, parts), map(group_of, (address, *refused)))
            self._fit.add(key)
        self._check_network({group: chosen[group] for group in classes.DESIGN if group in chosen}, parts)

    def _check_network(self, design: Mapping[str, classes.Option], parts: Mapping[str, Part]) -> None:
        """Raises Misfit if networks with these shapes cannot be built.  design: the options that decide them."""
        if not {"agent", "benchmark", "network", "activation"} <= design.keys():
            return
        key = ("", *(id(parts[group]) for group in design))
        if key in self._fit:
            return
        structure = json.dumps(
            [[target, classes.structure_of((target, of))] for target, of in design.values()], default=repr
        )
        if structure not in self._designs:
            self._designs[structure] = classes.no_network(design)
        if (why := self._designs[structure]) is not None:
            raise Misfit(why, design)
        self._fit.add(key)


def _sentence(address: str, why: str, others: Sequence[str], parts: Mapping[str, Part]) -> str:
    """A refusal.  why: a component's words. others: the addresses of those that it read."""
    choices = dict.fromkeys(f"{group_of(part)}={parts[part].science['name']}" for part in (address, *others))
    learns_not = group_of(address) == "agent" and [*map(group_of, others)] == ["benchmark"]
    verb = "cannot learn" if learns_not else "does not go with"
    refusing, *refused = choices
    return f"{refusing} {verb} {' and '.join(refused)}: {why}."


class Misfit(ConfigError):
    """Valid options that do not fit together: a sweep with other combinations is made without them.

    groups: the config groups of these options.
    """

    def __init__(self, sentence: str, groups: Iterable[str]) -> None:
        super().__init__(sentence)
        self.groups = tuple(dict.fromkeys(groups))


def runs_of(parts: Mapping[str, Part], numbers: Iterable[Numbers], asked: Mapping[str, Any]) -> Iterator[Run]:
    """The runs of these components, one for each of the numbers; plan, workers and record pass them on.

    parts: by their addresses (see `Run.targets`). Values that runs share are one object, which is never changed: a
    hundred thousand runs fit into memory.
    """
    by_group = _by_group({address: part.science for address, part in parts.items()})
    chosen = {address: (part.target, part.science) for address, part in parts.items()}
    seen_by_id = {}
    for address, part in parts.items():
        if part.canonical is not None:
            version = classes.version_of(address, chosen)  # the first is no part of the id
            seen_by_id[address] = {**({} if version == 1 else {"science_version": version}), **part.canonical}
    settings = {group: values for group, values in by_group.items() if COMPONENTS[group].science}
    besides = {group: values for group, values in by_group.items() if not COMPONENTS[group].science}
    canonical = spelled({group: of for group, of in _by_group(seen_by_id).items() if COMPONENTS[group].science})
    targets = {address: part.target for address, part in parts.items()}
    asked_as = [dict(asked)]
    for of_run in numbers:
        seeds = {key: value for key in ("stream_seed", "init_seed") if (value := getattr(of_run, key)) is not None}
        science = {"seed": of_run.seed, "precision": of_run.precision, **seeds, **settings}
        yield Run(run_id_of({**spelled(_canonical(of_run)), **canonical}), science, targets, asked_as, besides)


def _by_group(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Settings by address → by group. Options of one group become one entry: joined names, each one's settings."""
    by_group: dict[str, Any] = {}
    for address, values in settings.items():
        group, option = group_of(address), option_of(address)
        if not option:
            by_group[group] = values
            continue
        before = by_group.get(group, {})
        name = JOINED.join([before["name"], option] if before else [option])
        by_group[group] = {**before, "name": name, option: {key: of for key, of in values.items() if key != "name"}}
    return by_group


def run_of(parts: Mapping[str, Part], numbers: Numbers, asked: Mapping[str, Any]) -> Run:
    """The one run of these components and numbers."""
    return next(runs_of(parts, [numbers], asked))


def merged(runs: Iterable[Run]) -> list[Run]:
    """The runs without duplicates: the first one with an id stays, and gets the names of all in `asked_as`.

    If another one names the same function by other settings (Smooth-Leaky: other c and p), asked_as has these.
    """
    kept: dict[str, Run] = {}
    for run in runs:
        first = kept.setdefault(run.id, run)
        if first is run:
            continue
        other = {key: value for key, value in run.science.items() if value != first.science.get(key)}
        kept[run.id] = first.asked_also({**asked, "settings": other} if other else asked for asked in run.asked_as)
    return list(kept.values())


def _canonical(numbers: Numbers) -> dict[str, Any]:
    """The numbers in the id.  stream_seed and init_seed count only if they differ from the seed, their default."""
    canonical: dict[str, Any] = {"seed": numbers.seed}
    if numbers.precision != "fp32":
        canonical["precision"] = numbers.precision
    for key in ("stream_seed", "init_seed"):
        if getattr(numbers, key) not in (None, numbers.seed):
            canonical[key] = getattr(numbers, key)
    return canonical
