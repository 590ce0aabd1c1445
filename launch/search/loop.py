"""The loop of a search: propose a batch, have it trained as a sweep, and propose the next by all results.

Its messages: each batch, and at the end the best settings and how to report them.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from launch.launchers.finished import SweepFailed
from launch.launchers.slurm.submit_once import SweepCancelled
from launch.packs.submissions import cancellations, cancellations_before
from launch.runs.desk import merged
from launch.runs.search import Search, Study
from launch.runs.settings import store_option
from launch.runs.words import spelled
from launch.search.next_batch import MOST, Medians, ask, new_trials
from launch.wording import counted, say
from plasticity_lab.errors import ConfigError
from plasticity_lab.process.exits import seconds_since_command
from plasticity_lab.records.plan import sweep_of
from plasticity_lab.records.searches.batches import Batch, Results, Told, Trial, batches_of, distinct, write_batch
from plasticity_lab.records.searches.space import size_of
from plasticity_lab.records.settings import Settings, StopRule
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

Launch = Callable[[Sequence[Run], Settings], None]
"""Trains runs to their end, or gives them to a cluster; raises SweepFailed if some of them do not finish."""
AtOnce = Callable[[Run, Settings], int]
"""How many runs like one are trained at once: the runs of a pack, or one per worker."""
FEWEST_BATCHES = 4
"""A search that trains all trials at once learns nothing from their results."""


class Searcher:
    """One search.  batches: the batches proposed so far, oldest first."""

    def __init__(self, search: Search, launch: Launch, at_once: AtOnce) -> None:
        self.search, self.launch, self.at_once = search, launch, at_once
        self.store = Store(search.settings.store)
        self.batches = batches_of(self.store, search.id)
        self.results = Results(self.store)
        self.medians = Medians(self.store, self.results)

    def run(self) -> None:
        """Continues until all trials are done; on a cluster with launch.wait=false, until a batch is submitted.

        Raises SweepFailed if runs have not ended, or if all runs of a batch have failed; and the errors of `launch`.
        """
        if self.search.settings.dry_run:
            self._show()
        elif self._go_on():
            say_best(self.search, self.store, self.batches, self.results)

    def _go_on(self) -> bool:
        """Has batches trained, and proposes further ones, until all trials are done; False if a batch has not ended."""
        trained: set[int] = set()
        while unfinished := self._unfinished(trained) or self._proposed():
            trained.add(unfinished[0])
            if not self._train(unfinished[0]):
                return False
        return True

    def _unfinished(self, trained: Collection[int] = ()) -> list[int]:
        """The batches with runs that have not ended; the last one also if some failed, which are tried again.

        trained: batches that this command has had trained. Failed runs of these are not tried again.
        """
        last = len(self.batches) - 1
        return [
            number
            for number, batch in enumerate(self.batches)
            if not self._ended(batch) or (number == last and number not in trained and self._failed(batch))
        ]

    def _proposed(self) -> list[int]:
        """The number of the next batch, written to the store; an empty list if the search has no further batch."""
        number, batch = len(self.batches), self._next()
        if batch is None:
            return []
        self.store.prepare()
        write_batch(self.store, self.search.id, number, batch)
        # Another command may be further: its batches are trained to their end before one is proposed after them.
        self.batches = batches_of(self.store, self.search.id)
        return [number]

    def _next(self) -> Batch | None:
        """The next batch, from the results of earlier ones; None if all trials are done, or no study has more."""
        number, rule = len(self.batches), self.search.rule
        usual = rule.batch or (self.batches[0].width if self.batches else self._width())
        trials: list[Trial] = []
        stopping: dict[str, StopRule] | None = {} if rule.early_stopping == "median" else None
        for at, study in enumerate(self.search.studies):
            before = [trial for batch in self.batches for trial in batch.trials if trial.study == at]
            left = max(0, self.search.trials - len(distinct(before)))
            told = [self.results.told(trial, study.measure.name) for trial in before]
            seed = f"{rule.sampler_seed} {at} {number}"
            proposed = ask(study.space, told, study.measure.better, rule.sampler, seed)
            of_study = new_trials(study, at, before, min(usual, left), proposed, seed)
            trials += of_study
            if stopping is not None:
                stopping |= self.medians.rules(study, before, of_study)
        return Batch(trials, usual, self.search.about, stopping) if trials else None

    def _width(self) -> int:
        """The default number of trials trained at once: as many as fill a pack, or all workers.

        It is smaller if too few batches would be left for later ones to learn from earlier ones.
        """
        width = -(-self.search.trials // FEWEST_BATCHES)
        for study in self.search.studies:
            run = study.runs_of(study.corners[0])[0]
            width = min(width, self.at_once(run, self.search.settings) // study.seeds)
        return max(1, width)

    def _train(self, number: int) -> bool:
        """Has the runs of a batch trained; False if a cluster still trains them."""
        batch = self.batches[number]
        runs = self._runs(batch)
        if number:
            self._check_not_cancelled(self._runs(self.batches[number - 1]))
        say_batch(self.search, self.batches, number)
        if runs:
            try:
                self.launch(runs, self._settings(batch))
            except SweepFailed as error:
                self.results.forget()
                failed = [run for run in runs if self.results.status(run.id) == "failed"]
                if not self._ended(batch) or len(failed) == len(runs):
                    raise
                say(f"{error} The search goes on without {counted(len(failed), 'failed run')}.")
        self.results.forget()
        if self._ended(batch):
            return True
        more = "the same command proposes the next batch when this one has ended (launch.wait=true waits for it)"
        say(f"Search {self.search.id}: {more}.")
        return False

    def _check_not_cancelled(self, before: Sequence[Run]) -> None:
        """Raises SweepCancelled if the sweep of the previous batch was cancelled after the command was given.

        All jobs of that sweep may have ended already. A user can name no other sweep until the next batch has a plan.
        """
        sweep = sweep_of(before)
        if cancellations(self.store, sweep) > cancellations_before(self.store, sweep, seconds_since_command()):
            batch = f"Sweep {sweep}, a batch of search {self.search.id},"
            raise SweepCancelled(f"{batch} was cancelled during this command; the same command goes on.")

    def _show(self) -> None:
        """dry_run=true: shows the next batch, or the one that is being trained, and its plan."""
        unfinished, shown = self._unfinished(), list(self.batches)
        if not unfinished:
            if (batch := self._next()) is None:
                say_best(self.search, self.store, self.batches, self.results)
                return
            shown.append(batch)
        number = unfinished[0] if unfinished else len(self.batches)
        say_batch(self.search, shown, number)
        for trial in shown[number].trials:
            say(f"  {self.search.studies[trial.study].name}: {words_of(trial.values)}")
        self.launch(self._runs(shown[number]), self._settings(shown[number]))

    def _settings(self, batch: Batch) -> Settings:
        return self.search.settings.model_copy(update={"stopping": batch.stopping})

    def _runs(self, batch: Batch) -> list[Run]:
        """The runs of a batch.  Raises ConfigError if the current code gives its settings other ids."""
        runs = []
        for trial in batch.trials:
            if trial.refused is None:
                of_trial = self.search.studies[trial.study].runs_of(trial.values)
                if [run.id for run in of_trial] != list(trial.runs):
                    other = f"The code has changed: trial {words_of(trial.values)} is another run than when proposed"
                    folder = self.store.search_folder(self.search.id)
                    raise ConfigError(f"{other}; without {folder}, the search starts over.")
                runs += of_trial
        return merged(runs)

    def _ended(self, batch: Batch) -> bool:
        return all(self.results.status(run) is not None for trial in batch.trials for run in trial.runs)

    def _failed(self, batch: Batch) -> bool:
        return any(self.results.status(run) == "failed" for trial in batch.trials for run in trial.runs)


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
    counts = Counter(trial.state for trial in told)
    lost = {"stopped early or diverged": counts["stopped"], "failed": counts["failed"]}
    words = ", ".join(f"{count} {what}" for what, count in lost.items() if count)
    of = f"of {counted(len(told), 'trial')}{f' ({words})' if words else ''}"
    finished = [(trial.value, number) for number, trial in enumerate(told, 1) if trial.state == "done"]
    done = [(value, number) for value, number in finished if value is not None]
    if not done:
        return f"Search {search.id}: {study.name}: {of} none has a value of {study.measure.name} on each seed."
    sign = -1 if study.measure.better == "less" else 1
    value, number = max(done, key=lambda pair: (sign * pair[0], -pair[1]))
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
