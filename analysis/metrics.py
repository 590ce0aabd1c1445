"""What the numbers in a record's summary are called, their unit, and which direction is better."""

from collections.abc import Iterable

from plasticity_lab.records.measures import Declared, Measure

# What the papers report where every task is evaluated after every other. No run records it yet: no agent declares it.
_OF_TASK_MATRICES = (
    Measure("acc", "Average accuracy over all tasks after the last", "%", 100.0, 2, "more"),
    Measure("bwt", "Backward transfer", "%", 100.0, 2, "more"),
    Measure("one_step_bwt", "Backward transfer over one task", "%", 100.0, 2, "more"),
    Measure("fwt", "Forward transfer", "%", 100.0, 2, "more"),
    Measure("forgetting", "Forgetting", "%", 100.0, 2, "less"),
)


def metric(name: str, declared: Iterable[Declared]) -> Measure:
    """The metric of that name, as the first of some records' declarations that has it says.

    A summary value that nobody describes is shown as it is stored, and no table names a best of it.
    """
    described = (each.summaries[name] for each in declared if name in each.summaries)
    of_papers = (measure for measure in _OF_TASK_MATRICES if measure.name == name)
    return next(described, None) or next(of_papers, None) or Measure(name, name, "as stored")
