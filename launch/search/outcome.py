"""The messages of a search: the next batch, and at the end the best settings and how to report them."""

from collections import Counter
from collections.abc import Mapping, Sequence

from launch.runs.search import Search, Study
from launch.runs.settings import store_option
from launch.runs.words import spelled
from launch.search.sampler import MOST
from launch.wording import counted, say
from plasticity_lab.records.searches.batches import Batch, Results, Told, Trial, distinct
from plasticity_lab.records.searches.space import size_of
from plasticity_lab.records.store import Store


def words_of(values: Mapping[str, object]) -> str:
    """The values of a trial as words of a command line."""
    return " ".join(f"{key}={spelled(value)}" for key, value in values.items())


def say_batch(search: Search, batches: Sequence[Batch], number: int) -> None:
    """Says which trials a batch has.  batches: all so far, this one included."""
    counts: dict[tuple[int, int], list[Study]] = {}
    for at, study in enumerate(search.studies):
        before = len(distinct(_of(batches[:number], at)))
        if count := len(_of([batches[number]], at)):
            counts.setdefault((before, count), []).append(study)
    for (before, count), studies in counts.items():
        each = " of each study" if len(studies) > 1 else f" of {studies[0].name}" if len(search.studies) > 1 else ""
        which = f"trial {before + 1}" if count == 1 else f"trials {before + 1} to {before + count}"
        seeds = f"{counted(studies[0].seeds, 'seed')} each"
        say(f"Search {search.id}: {which} of {search.trials}{each}, {seeds}, by {search.rule.sampler}.")
    for trial in batches[number].trials:
        if trial.refused is not None:
            say(f"Not tried: {words_of(trial.values)}: {trial.refused}")


def say_best(search: Search, store: Store, batches: Sequence[Batch], results: Results) -> None:
    """Says the best setting of each study, and the commands that report it."""
    for at, study in enumerate(search.studies):
        trials = distinct(_of(batches, at))
        if len(trials) < search.trials:
            say(f"Search {search.id}: {study.name}: {_why_fewer(study, len(trials))}")
        say(_line(search, study, [results.told(trial, study.measure.name) for trial in trials]))
    seeds = sorted({numbers.seed for study in search.studies for numbers in study.request.numbers})
    fresh = ",".join(str(seeds[-1] + more) for more in (1, 2, 3))
    say(
        f"These means come from the seeds that selected. On new ones: the same command with hyperparams=selected "
        f"seed={fresh}, without the searched settings. How much is luck: python -m analysis table selected"
        f"{store_option(store)}"
    )


def _line(search: Search, study: Study, told: Sequence[Told]) -> str:
    """The best of a study's trials, in a line."""
    counts = Counter(each.state for each in told)
    lost = {"stopped early or diverged": counts["stopped"], "failed": counts["failed"]}
    words = ", ".join(f"{count} {what}" for what, count in lost.items() if count)
    of = f"of {counted(len(told), 'trial')}{f' ({words})' if words else ''}"
    finished = [(each.value, number) for number, each in enumerate(told, 1) if each.state == "done"]
    done = [(value, number) for value, number in finished if value is not None]
    if not done:
        return f"Search {search.id}: {study.name}: {of} none has a value of {study.measure.name} on each seed."
    sign = -1 if study.measure.better == "less" else 1
    value, number = max(done, key=lambda each: (sign * each[0], -each[1]))
    shown = f"{study.measure.number(value * study.measure.scale)} {study.measure.unit}".rstrip()
    best = f"{study.measure.label} {shown}: {words_of(told[number - 1].values)} (trial {number})"
    return f"Search {search.id}: {study.name}: the best {of} has {best}."


def _why_fewer(study: Study, trials: int) -> str:
    """The reason why a study has ended with fewer trials than were asked for."""
    size = size_of(study.space)
    if size is None or size > MOST:
        return f"it has ended after {counted(trials, 'trial')}, since further settings only repeated earlier ones."
    all_tried = f"it has ended, since all {size} combinations of its settings have been tried"
    if size == trials:
        return f"{all_tried}."
    return f"{all_tried}: {counted(trials, 'different trial')}, as some combinations are the same function."


def _of(batches: Sequence[Batch], study: int) -> list[Trial]:
    return [trial for batch in batches for trial in batch.trials if trial.study == study]
