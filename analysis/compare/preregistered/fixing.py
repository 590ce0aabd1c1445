"""A registration made of runs that are planned, and of which none has begun."""

from collections.abc import Sequence

from analysis.compare.comparison import BEST
from analysis.compare.sections import Section, sections
from analysis.compare.setting import chosen_setting
from analysis.conf import groups
from analysis.rows import Row
from plasticity_lab.errors import ConfigError
from plasticity_lab.records.files import stands
from plasticity_lab.records.plan import read_plan, sweeps_of
from plasticity_lab.records.store import Store
from plasticity_lab.records.targets import measures_of

DIAGNOSTICS = "diagnostics"
FIRST = "a hypothesis is fixed before its runs are trained"


def the_section(rows: Sequence[Row], by: str | None) -> tuple[str, Section]:
    """The setting by which rows are compared, and the one section that they make.

    Raises ConfigError where there are several, or runs that stand in none.
    """
    setting = chosen_setting(rows, by)
    found, notes = sections(rows, setting)
    if len(found) > 1:
        words = "; ".join(section.words for section in found)
        raise ConfigError(f"These runs make {len(found)} comparisons ({words}); choose one with --where.")
    if notes:
        raise ConfigError(f"{notes[0]} Leave them out with --where.")
    return setting, found[0]


def reference_of(section: Section, by: str, against: str | None) -> str:
    """The arm with which others are compared.  Raises ConfigError where it is none of them, or not said."""
    there = ", ".join(section.arms)
    if against is None and by == "intervention" and "none" in section.arms:
        return "none"
    if against is None or against == BEST:
        raise ConfigError(f"The arm with which others are compared is fixed too: name it with --against ({there}).")
    if against not in section.arms:
        raise ConfigError(f"There is no arm '{against}' of {by}; --against takes {there}.")
    return against


def check_whole(section: Section) -> None:
    """Raises ConfigError where an arm lacks a seed that another has: then one of the two was not meant."""
    for task, arms in section.strata.items():
        seeds = {arm: {row.seeds for row in arms.get(arm, ())} for arm in section.arms}
        most = max(seeds, key=lambda arm: len(seeds[arm]))
        for arm, of in seeds.items():
            if lacking := seeds[most] - of:
                where = f" on {task}" if task else ""
                words = ", ".join(sorted(str(each[0]) for each in lacking))
                raise ConfigError(f"{arm} lacks seeds {words} of {most}{where}; plan all arms with the same seeds.")


def check_not_begun(store: Store, section: Section) -> None:
    """Raises ConfigError where a run has ended, or its training has begun."""
    wanted = {row.run for row in section.rows}
    ended = [row.run for row in section.rows if row.status != "waiting"]
    if ended:
        raise ConfigError(
            f"{len(ended)} of the {len(wanted)} runs have ended already, as {ended[0]}; {FIRST}. Plan others, with "
            "plan_only=true, in another store or with other seeds."
        )
    for sweep in sweeps_of(store):
        for pack in read_plan(store, sweep).packs:
            if wanted & {*pack.runs} and stands(store.binding(pack.id)):
                raise ConfigError(f"The training of pack {pack.id}, which has some of these runs, has begun; {FIRST}.")


def check_metric(store: Store, section: Section, metric: str) -> str | None:
    """Raises ConfigError for a metric that not all of these runs will have; a sentence where that is not known.

    What diagnostics add to a summary is known when a run has ended.
    """
    planned = {name: run for sweep in sweeps_of(store) for name, run in read_plan(store, sweep).runs.items()}
    one_each = [planned[rows[0].run] for arms in section.strata.values() for rows in arms.values()]
    having = [measures_of(run.targets, run.science).declared.summaries.keys() for run in one_each]
    if all(metric in names for names in having):
        return None
    neutral = groups()[DIAGNOSTICS]["neutral"]
    if any(run.besides.get(DIAGNOSTICS, {}).get("name", neutral) != neutral for run in one_each):
        return f"Whether '{metric}' is one of what diagnostics add is known when a run has ended."
    known = sorted(set.intersection(*map(set, having)))
    raise ConfigError(f"Not all runs will have '{metric}' in their summaries; they will have {', '.join(known)}.")


def runs_of(section: Section) -> dict[str, dict[str, object]]:
    """Run id → arm, task and seed, as a registration has them."""
    return {
        row.run: {"arm": arm, "task": task, "seed": row.seeds[0]}
        for task, arms in section.strata.items()
        for arm, rows in arms.items()
        for row in rows
    }
