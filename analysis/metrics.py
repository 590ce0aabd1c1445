"""What the numbers in a record's summary are called, their unit, and which direction is better."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """How one summary value is shown: `scale` takes the stored value to the unit, `places` are its decimals."""

    name: str
    title: str
    unit: str
    scale: float
    places: int
    higher_is_better: bool

    def number(self, value: float) -> str:
        """The value (already in the unit) as the tables print it."""
        return f"{value:,.{self.places}f}"


def _percent(name: str, title: str, *, higher_is_better: bool = True) -> Metric:
    return Metric(name, title, "%", 100.0, 2, higher_is_better)


# Where higher is not better, a table names no best and makes no test: a gap is healthy or not, a cost is a cost.
METRICS = {
    metric.name: metric
    for metric in (
        _percent("taoa", "Total Average Online Task Accuracy"),
        _percent("taoa_all", "Total Average Online Task Accuracy, easy tasks included"),
        _percent("aoa_first_tenth", "Average online accuracy, first tenth of the tasks"),
        _percent("aoa_last_tenth", "Average online accuracy, last tenth of the tasks"),
        Metric("aoa_slope", "Slope of the average online accuracy over tasks", "% per task", 100.0, 4, True),
        _percent("final_accuracy", "Final task accuracy, mean over tasks"),
        _percent("final_accuracy_last_task", "Final accuracy of the last task"),
        _percent("gap", "Generalization gap", higher_is_better=False),
        _percent("acc", "Average accuracy over all tasks after the last"),
        _percent("bwt", "Backward transfer"),
        _percent("one_step_bwt", "Backward transfer over one task"),
        _percent("fwt", "Forward transfer"),
        _percent("forgetting", "Forgetting", higher_is_better=False),
        Metric("parameters", "Parameters", "count", 1.0, 0, False),
        Metric("seconds", "Time a run", "s", 1.0, 1, False),
    )
}


def metric(name: str) -> Metric:
    """The metric of that name; a summary value nobody described is shown as it is stored, without a best."""
    return METRICS.get(name) or Metric(name, name, "as stored", 1.0, 4, False)
